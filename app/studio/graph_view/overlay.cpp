// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/overlay.h"

#include "app/report/format.h"
#include "app/studio/graph_view/op_family.h"

#include <QCoreApplication>
#include <QObject>
#include <algorithm>
#include <cmath>
#include <map>

namespace fuselage::studio {

namespace {

QColor heat(const Colours& colours, double share) {
    return mixed(colours["node"], colours["loss"], 0.08 + 0.8 * share);
}

/// Boxes of a side by a figure from pale to strong; its square root, so that small ones show.
OverlayColours byFigure(const Drawing& drawing, scene::Side side, const Colours& colours,
                        double scene::Figures::*figure, std::string (*text)(double)) {
    OverlayColours out;
    const auto& boxes = drawing.scene().boxes;
    out.fill.resize(boxes.size());
    double most = 0;
    for (const scene::Box& box : boxes) // one scale for both sides, so that they compare
        most = std::max(most, box.figures.*figure);
    for (size_t b = 0; b < boxes.size(); ++b)
        if ((boxes[b].sides & side) && boxes[b].figures.*figure >= 0 && most > 0)
            out.fill[b] = heat(colours, std::sqrt(boxes[b].figures.*figure / most));
    for (double share : {0.0, 0.25, 1.0})
        out.keys.push_back(
            {QString::fromStdString(text(share * share * most)), heat(colours, share)});
    return out;
}

OverlayColours byTime(const Drawing& drawing, scene::Side side, const Colours& colours) {
    return byFigure(drawing, side, colours, &scene::Figures::seconds, app::secondsText);
}

OverlayColours byBytes(const Drawing& drawing, scene::Side side, const Colours& colours) {
    return byFigure(drawing, side, colours, &scene::Figures::bytes,
                    [](double bytes) { return app::bytesText(static_cast<int64_t>(bytes)); });
}

/// By the logarithm: errors of one model lie decades apart.
OverlayColours byError(const Drawing& drawing, scene::Side side, const Colours& colours) {
    double least = 1; ///< of those that are any
    OverlayColours out;
    const auto& boxes = drawing.scene().boxes;
    double most = 0;
    bool known = false;
    for (const scene::Box& box : boxes) {
        known = known || box.figures.error >= 0;
        most = std::max(most, box.figures.error);
        if (box.figures.error > 0)
            least = std::min(least, box.figures.error);
    }
    // Below is no error to look at; above, colours that differ.
    least = std::max(std::min(least, most / 10), 1e-9);
    if (!known) {
        out.keys.push_back(
            {QObject::tr("no errors are known: Run > Error of every node (Ctrl+F5) for a quantised "
                         "or 16-bit model, or measure with Verify on (F5)"),
             {}});
        return out;
    }
    most = std::max(most, 10 * least);
    auto shareOf = [&](double error) {
        return std::log(std::max(error, least) / least) / std::log(most / least);
    };
    out.fill.resize(boxes.size());
    for (size_t b = 0; b < boxes.size(); ++b)
        if ((boxes[b].sides & side) && boxes[b].figures.error >= 0)
            out.fill[b] = heat(colours, shareOf(boxes[b].figures.error));
    for (double error : {least, std::sqrt(least * most), most})
        out.keys.push_back(
            {(error == least ? QStringLiteral("≤ ") : QString()) + QString::number(error, 'g', 2),
             heat(colours, shareOf(error))});
    return out;
}

OverlayColours byPrecision(const Drawing& drawing, scene::Side side, const Colours& colours) {
    OverlayColours out;
    const auto& boxes = drawing.scene().boxes;
    out.fill.resize(boxes.size());
    std::map<std::string, QColor> known;
    for (const scene::Box& box : boxes)
        if (!box.dtype.empty())
            known[box.dtype];
    size_t number = 0;
    for (auto& [dtype, colour] : known) {
        colour = colours["rule-" + std::to_string(number++ % 8)];
        out.keys.push_back({QString::fromStdString(dtype), colour});
    }
    for (size_t b = 0; b < boxes.size(); ++b)
        if ((boxes[b].sides & side) && !boxes[b].dtype.empty())
            out.fill[b] = known[boxes[b].dtype];
    return out;
}

std::vector<OverlayKey> ruleKeys(const scene::Scene& scene, const Colours& colours) {
    constexpr size_t most = 12; // the rest is in Matches
    std::vector<OverlayKey> out;
    for (const scene::LegendRow& row : scene.legend)
        if (out.size() < most)
            out.push_back({QStringLiteral("%1\u00a0%2\u00a0×%3")
                               .arg(QString::fromStdString(row.letter),
                                    row.rule.empty() ? QObject::tr("rewritten")
                                                     : QString::fromStdString(row.rule))
                               .arg(row.count),
                           colours[row.token + ".line"]});
    if (scene.legend.size() > most)
        out.push_back({QObject::tr("and %1 more").arg(scene.legend.size() - most), {}});
    return out;
}

/// What the letters of badges and the lines of edges stand for.
OverlayColours plain(const Drawing& drawing, scene::Side, const Colours& colours) {
    OverlayColours out{{}, ruleKeys(drawing.scene(), colours)};
    bool shapes = false, skips = false;
    for (uint32_t e = 0; e < drawing.scene().edges.size(); ++e) {
        shapes = shapes || drawing.edgeKind(e) == EdgeKind::Shape;
        skips = skips || drawing.edgeKind(e) == EdgeKind::Skip;
    }
    if (skips)
        out.keys.push_back({QObject::tr("╌╌\u00a0skip\u00a0connection \u00a0 "), {}});
    if (shapes)
        out.keys.push_back({QObject::tr("┄┄\u00a0sizes\u00a0and\u00a0indices"), {}});
    return out;
}

OverlayColours byRule(const Drawing& drawing, scene::Side side, const Colours& colours) {
    OverlayColours out;
    const scene::Scene& scene = drawing.scene();
    out.fill.resize(scene.boxes.size());
    for (size_t b = 0; b < scene.boxes.size(); ++b)
        if ((scene.boxes[b].sides & side) && scene.boxes[b].group != scene::none)
            out.fill[b] = colours[scene.groups[scene.boxes[b].group].token];
    out.keys = ruleKeys(scene, colours);
    for (size_t i = 0; i < out.keys.size() && i < scene.legend.size(); ++i)
        if (out.keys[i].colour.isValid())
            out.keys[i].colour = colours[scene.legend[i].token];
    return out;
}

/// Of what is there, in the order in which it comes.
OverlayColours byFamily(const Drawing& drawing, scene::Side side, const Colours& colours) {
    OverlayColours out;
    const auto& boxes = drawing.scene().boxes;
    out.fill.resize(boxes.size());
    std::vector<const OpFamily*> seen;
    for (size_t b = 0; b < boxes.size(); ++b) {
        // What a fused box is mostly about stands first in its title.
        const bool fused = boxes[b].kind == scene::Box::Kind::Fused;
        const std::string& title = boxes[b].title;
        const OpFamily* family = familyOf(fused ? title.substr(0, title.find(' ')) : boxes[b].op);
        if (family == nullptr)
            continue;
        const QColor colour = colours[family->token];
        if (boxes[b].sides & side)
            out.fill[b] = colour;
        if (std::find(seen.begin(), seen.end(), family) == seen.end()) {
            seen.push_back(family);
            out.keys.push_back({QCoreApplication::translate("OpFamily", family->title), colour});
        }
    }
    return out;
}

const OverlayRow rows[] = {
    {"none", "No overlay", "0", plain},
    {"time", "Overlay: time", "1", byTime},
    {"bytes", "Overlay: bytes", "2", byBytes},
    {"precision", "Overlay: precision", "3", byPrecision},
    {"rule", "Overlay: rule", "4", byRule},
    {"error", "Overlay: numeric error", "5", byError},
    {"family", "Overlay: kind of operator", "6", byFamily},
    {"profile", "Overlay: time in ONNX Runtime", "7", nullptr},
};

} // namespace

OverlayColours byTimes(const Drawing& drawing, scene::Side side, const Colours& colours,
                       const QHash<QString, double>& seconds) {
    OverlayColours out;
    if (seconds.isEmpty()) {
        out.keys.push_back(
            {QObject::tr("no profile is open: File > Open ONNX Runtime profile"), {}});
        return out;
    }
    const auto& boxes = drawing.scene().boxes;
    std::vector<double> times(boxes.size(), -1);
    double most = 0;
    for (uint32_t b = 0; b < boxes.size(); ++b) {
        if (!(boxes[b].sides & scene::Before))
            continue;
        for (const QString& node : drawing.nodesOf(scene::Before, b))
            if (const auto found = seconds.constFind(node); found != seconds.cend())
                times[b] = std::max(times[b], 0.0) + *found;
        most = std::max(most, times[b]);
    }
    out.fill.resize(boxes.size());
    for (size_t b = 0; b < boxes.size(); ++b)
        if (side == scene::Before && times[b] >= 0 && most > 0)
            out.fill[b] = heat(colours, std::sqrt(times[b] / most));
    for (double share : {0.0, 0.25, 1.0})
        out.keys.push_back(
            {QString::fromStdString(app::secondsText(share * share * most)), heat(colours, share)});
    return out;
}

std::span<const OverlayRow> overlays() {
    return rows;
}

} // namespace fuselage::studio
