// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/pair_style.h"

#include <QSet>
#include <algorithm>
#include <unordered_map>

namespace fuselage::studio {

using scene::none;

namespace {

struct MarkLook {
    const char* letter;
    const char* token;
};

MarkLook lookOf(NodeMark::Kind kind) {
    switch (kind) {
    case NodeMark::Kind::Gained:
        return {"+", "gain"};
    case NodeMark::Kind::Lost:
        return {"\u2212", "loss"};
    case NodeMark::Kind::Bound:
        return {"\u2713", "gain"};
    case NodeMark::Kind::Failed:
        return {"!", "tunnel.line"};
    case NodeMark::Kind::Slower:
        return {"\u25bc", "loss"};
    }
    return {"?", "text"};
}

/// The number of steps after which each group stands as it ends; 0: it was never a step.
std::vector<int> stepsOfGroups(const scene::Scene& scene, const app::Report& report) {
    std::unordered_map<std::string, int> madeAt;
    for (size_t i = 0; i < report.steps.size(); ++i)
        for (const std::string& made : report.steps[i].made)
            madeAt[made] = static_cast<int>(i) + 1;
    std::vector<int> out;
    for (const scene::Group& group : scene.groups) {
        int last = 0;
        const auto count = [&](const std::string& made) {
            if (auto found = madeAt.find(made); found != madeAt.end())
                last = std::max(last, found->second);
        };
        std::for_each(group.made.begin(), group.made.end(), count);
        count(group.open);
        out.push_back(last);
    }
    return out;
}

bool isEnd(const scene::Box& box) {
    return box.kind == scene::Box::Kind::Input || box.kind == scene::Box::Kind::Output;
}

} // namespace

std::vector<BoxMark> marksOn(const Drawing& drawing, scene::Side side,
                             const QList<NodeMark>& marks) {
    std::vector<BoxMark> out;
    for (const NodeMark& mark : marks) {
        if (mark.after != (side == scene::After))
            continue;
        uint32_t box = drawing.boxOf(side, mark.node);
        if (box == none)
            continue;
        MarkLook look = lookOf(mark.kind);
        out.push_back({box, QString::fromUtf8(look.letter), look.token, mark.callout});
    }
    return out;
}

Picked pickedOf(const Drawing& drawing, scene::Side side, const std::vector<uint32_t>& boxes) {
    const auto& all = drawing.scene().boxes;
    const auto isInner = [&](uint32_t box) {
        return !all[box].inside.empty() && !all[box].sources.empty();
    };
    Picked out{side, {}, {}};
    if (boxes.size() == 1 && isEnd(all[boxes[0]])) {
        out.value = QString::fromStdString(all[boxes[0]].name);
        return out;
    }
    const bool inner = std::all_of(boxes.begin(), boxes.end(), isInner);
    if (inner)
        out.side = scene::Before;
    for (uint32_t box : boxes) {
        if (inner)
            for (const std::string& source : all[box].sources)
                out.nodes << QString::fromStdString(source);
        else if (!all[box].inside.empty())
            out.nodes << QString::fromStdString(all[box].inside);
        else
            out.nodes += drawing.nodesOf(side, box);
    }
    out.nodes.removeDuplicates();
    return out;
}

void selectOthers(const Drawing& drawing, scene::Side side, const Selection& selection,
                  std::vector<uint8_t>& selected) {
    for (uint32_t b = 0; !selection.value.isEmpty() && b < selected.size(); ++b)
        if (const scene::Box& box = drawing.scene().boxes[b]; isEnd(box) && (box.sides & side))
            selected[b] = box.name == selection.value.toStdString();
    if (drawing.inner().empty())
        return;
    const QSet<QString> before(selection.before.begin(), selection.before.end());
    const QStringList& here = side == scene::Before ? selection.before : selection.after;
    for (uint32_t b : drawing.inner()) {
        const scene::Box& box = drawing.scene().boxes[b];
        if (!(box.sides & side))
            continue;
        selected[b] = box.sources.empty()
                          ? here.contains(QString::fromStdString(box.inside))
                          : std::any_of(box.sources.begin(), box.sources.end(),
                                        [&](const std::string& source) {
                                            return before.contains(QString::fromStdString(source));
                                        });
    }
}

void showStep(const Drawing& drawing, const app::Report& report, int done, PaintStyle& style) {
    const scene::Scene& scene = drawing.scene();
    std::vector<int> steps = stepsOfGroups(scene, report);
    bool finished = done >= static_cast<int>(report.steps.size());
    std::vector<uint32_t> made(scene.groups.size(), none); ///< the box that a group becomes
    for (uint32_t b = 0; b < scene.boxes.size(); ++b) {
        const scene::Box& box = scene.boxes[b];
        if (box.group != none && (box.sides & scene::After) && made[box.group] == none)
            made[box.group] = b;
    }
    style.shown.assign(scene.boxes.size(), 0);
    style.standIn.assign(scene.boxes.size(), none);
    for (uint32_t b = 0; b < scene.boxes.size(); ++b) {
        const scene::Box& box = scene.boxes[b];
        bool isDone = box.group == none ? finished : steps[box.group] <= done;
        style.shown[b] = (box.sides & (isDone ? scene::After : scene::Before)) != 0;
        if (style.shown[b])
            style.standIn[b] = b;
        else if (box.group != none && isDone)
            style.standIn[b] = made[box.group];
    }
}

} // namespace fuselage::studio
