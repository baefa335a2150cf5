// SPDX-License-Identifier: Apache-2.0
// The data of the report page. Arrays instead of objects and one table of strings: a model of 5,000
// nodes stays below three megabytes. resources/report/page.js reads the same order.
#include "app/report/html_internal.h"
#include "app/report/scene/scene.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fuselage::app {

namespace {

using nlohmann::json;
using scene::Scene;

int64_t nearestWhole(double value) {
    return std::llround(value);
}

double hundredths(double value) {
    return std::round(value * 100) / 100;
}

/// 0 to 4 by decades, from a millionth; -1: not known.
int errorLevel(double error) {
    if (error < 0)
        return -1;
    return error <= 1e-6 ? 0 : std::clamp(static_cast<int>(std::log10(error) + 6), 0, 4);
}

json indexOrNone(uint32_t index) {
    return index == scene::none ? json(-1) : json(index);
}

class PageData {
public:
    explicit PageData(const Report& report) : m_report(report) {}

    json run(const Scene& collapsed, const Scene& open) {
        json out;
        out["scenes"] = {sceneJson(collapsed), sceneJson(open)};
        addGroups(open, out);
        double mostUs = 0, mostBytes = 0;
        std::map<std::string, bool> dtypes;
        for (const scene::Box& box : open.boxes) {
            mostUs = std::max(mostUs, box.figures.seconds * 1e6);
            mostBytes = std::max(mostBytes, box.figures.bytes);
            if (!box.dtype.empty())
                dtypes[box.dtype] = true;
        }
        out["mostUs"] = mostUs;
        out["mostBytes"] = mostBytes;
        out["dtypes"] = json::array();
        for (const auto& [name, present] : dtypes)
            out["dtypes"].push_back(name);
        out["t"] = m_texts;
        return out;
    }

private:
    size_t text(const std::string& value) {
        auto [entry, isNew] = m_known.try_emplace(value, m_texts.size());
        if (isNew)
            m_texts.push_back(value);
        return entry->second;
    }

    json texts(const std::vector<std::string>& values) {
        json out = json::array();
        for (const std::string& value : values)
            out.push_back(text(value));
        return out;
    }

    json sceneJson(const Scene& scene);
    json boxJson(const scene::Box& box);
    void addGroups(const Scene& scene, json& out);
    json matchJson(const MatchReport& match);

    const Report& m_report;
    json m_texts = json::array();
    std::unordered_map<std::string, size_t> m_known;
};

json PageData::boxJson(const scene::Box& b) {
    json badges = json::array();
    for (const scene::Badge& badge : b.badges)
        badges.push_back({text(badge.text), text(badge.token)});
    double us = b.figures.seconds < 0 ? -1 : hundredths(b.figures.seconds * 1e6);
    return {nearestWhole(b.rect.x),
            nearestWhole(b.rect.y),
            nearestWhole(b.rect.w),
            nearestWhole(b.rect.h),
            nearestWhole(scene::textTop(b)),
            static_cast<int>(b.kind),
            b.sides,
            indexOrNone(b.group),
            indexOrNone(b.container),
            text(b.title),
            texts(b.lines),
            std::move(badges),
            text(b.token),
            text(b.fill),
            text(b.name),
            text(b.op),
            text(b.type),
            text(b.dtype),
            nearestWhole(b.figures.bytes),
            us,
            text(b.figures.kernel),
            errorLevel(b.figures.error)};
}

json PageData::sceneJson(const Scene& scene) {
    json containers = json::array(), boxes = json::array(), edges = json::array(),
         stubs = json::array();
    for (const scene::Container& c : scene.containers)
        containers.push_back(
            {nearestWhole(c.rect.x), nearestWhole(c.rect.y), nearestWhole(c.rect.w),
             nearestWhole(c.rect.h), text(c.label), static_cast<int>(c.kind), c.sides,
             indexOrNone(c.group), indexOrNone(c.parent), c.collapsed ? 1 : 0,
             c.kind == scene::Container::Kind::Group ? json(-1) : json(text(c.id))});
    for (const scene::Box& box : scene.boxes)
        boxes.push_back(boxJson(box));
    for (const scene::Edge& e : scene.edges) {
        json points = json::array();
        int64_t x = 0, y = 0;
        for (const scene::Point& p : e.points) {
            points.push_back(nearestWhole(p.x) - x);
            points.push_back(nearestWhole(p.y) - y);
            x = nearestWhole(p.x), y = nearestWhole(p.y);
        }
        json row = {e.from, e.to, e.sides, e.width, e.tunnel ? 1 : 0, std::move(points)};
        if (!e.stored.empty())
            row.insert(row.end(),
                       {text(e.stored), nearestWhole(e.storedAt.x), nearestWhole(e.storedAt.y)});
        edges.push_back(std::move(row));
    }
    for (const scene::Stub& s : scene.stubs)
        stubs.push_back({s.box, s.sides, s.outgoing ? 1 : 0, text(s.label), nearestWhole(s.rect.x),
                         nearestWhole(s.rect.y), nearestWhole(s.rect.w), nearestWhole(s.rect.h),
                         s.edges});
    return {{"w", nearestWhole(scene.rect.w)},
            {"h", nearestWhole(scene.rect.h)},
            {"c", containers},
            {"b", boxes},
            {"e", edges},
            {"s", stubs}};
}

json PageData::matchJson(const MatchReport& match) {
    json bindings = json::array();
    for (const BindingReport& binding : match.bindings)
        bindings.push_back({text(binding.name), texts(binding.values)});
    bool measured = match.measuredBefore && match.measuredAfter;
    double before = measured ? *match.measuredBefore : match.secondsBefore;
    double after = measured ? *match.measuredAfter : match.secondsAfter;
    std::string kernels;
    for (const KernelReport& kernel : m_report.after.kernels)
        if (kernel.rule == match.rule && !kernel.sources.empty() && !match.nodes.empty() &&
            kernel.sources.front() == match.nodes.front())
            kernels += (kernels.empty() ? "" : ", ") + kernel.kind +
                       (kernel.tactic.empty() ? "" : " (" + kernel.tactic + ")");
    // There may be thousands: what is usual is left out, and digits that nobody sees.
    json out{{"bind", bindings},
             {"bytes", {match.bytesBefore, match.bytesAfter}},
             {"launches", {match.launchesBefore, match.launchesAfter}},
             {"us", {hundredths(before * 1e6), hundredths(after * 1e6)}},
             {"kernel", text(kernels)}};
    if (!match.origins.empty())
        out["origins"] = texts(match.origins);
    if (!match.labels.empty())
        out["labels"] = texts(match.labels);
    if (measured)
        out["measured"] = true;
    return out;
}

/// Groups with the step that made them, and the steps.
void PageData::addGroups(const Scene& scene, json& out) {
    std::unordered_map<std::string, size_t> groupOf, stepOf;
    for (size_t g = 0; g < scene.groups.size(); ++g)
        for (const std::string& made : scene.groups[g].made)
            groupOf[made] = g;
    std::unordered_map<std::string, const MatchReport*> matchOf;
    for (const MatchReport& match : m_report.matches)
        matchOf[match.fusedNode] = &match;
    json steps = json::array();
    std::vector<size_t> stepOfGroup(scene.groups.size(), 0);
    for (const StepReport& step : m_report.steps) {
        bool fused = step.kind == StepReport::Kind::Fused;
        if (!fused && step.kind != StepReport::Kind::Rewritten)
            continue;
        json group = -1;
        for (const std::string& made : step.made)
            if (auto found = groupOf.find(made); found != groupOf.end()) {
                group = found->second;
                stepOfGroup[found->second] = steps.size();
            }
        steps.push_back(
            {text((fused ? "fused by " : "rewritten by ") + step.rule + ", phase " + step.phase),
             group});
    }
    out["steps"] = steps;
    out["groups"] = json::array();
    for (size_t g = 0; g < scene.groups.size(); ++g) {
        const scene::Group& group = scene.groups[g];
        json entry{{"badge", group.badge},
                   {"rule", group.rule.empty() ? json(-1) : json(text(group.rule))},
                   {"file", group.file.empty() ? json(-1) : json(text(group.file))},
                   {"line", group.line},
                   {"hue", std::stoi(group.token.substr(5))},
                   {"step", stepOfGroup[g]},
                   {"members", texts(group.members)},
                   {"made", texts(group.made)}};
        for (const std::string& made : group.made)
            if (auto match = matchOf.find(made); match != matchOf.end())
                entry["match"] = matchJson(*match->second);
        out["groups"].push_back(std::move(entry));
    }
}

} // namespace

std::string pageData(const Report& report, const Scene& collapsed, const Scene& open) {
    return PageData(report)
        .run(collapsed, open)
        .dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace fuselage::app
