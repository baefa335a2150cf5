// SPDX-License-Identifier: Apache-2.0
// Where the time of the model goes, by the scopes in the names of its nodes: a scope lies below the
// one that it is in and is as wide as its nodes take; the widest stands first.
#include "app/report/chart/canvas_internal.h"
#include "app/report/format.h"
#include "app/report/report_scene.h"

#include <algorithm>
#include <map>

namespace fuselage::chart {

namespace {

constexpr double width = 1120, top = 10, rowHeight = 20;
constexpr double narrowest = 1;     ///< pixels; what is thinner is left out
constexpr double letterWidth = 6.5; ///< about
constexpr size_t deepest = 12, hues = 12;

struct Scope {
    std::string name;
    std::string node; ///< of a leaf
    double seconds = 0;
    std::map<std::string, Scope> inside;
};

/// "/layer1/0/conv/Conv" -> layer1, 0, conv, Conv; a name without separators stands alone.
std::vector<std::string> partsOf(const std::string& name) {
    const char separator = name.find('/') != std::string::npos ? '/' : '.';
    std::vector<std::string> out;
    size_t begin = 0;
    for (size_t at = name.find(separator); at != std::string::npos && out.size() < deepest;
         at = name.find(separator, begin)) {
        if (at > begin)
            out.push_back(name.substr(begin, at - begin));
        begin = at + 1;
    }
    out.push_back(name.substr(begin));
    return out;
}

Scope scopesOf(const app::Report& report) {
    Scope root;
    const scene::SideFigures figures = app::figuresOf(report);
    for (const app::GraphNodeReport& node : report.before.graph.nodes) {
        const auto found = figures.before.find(node.name);
        if (found == figures.before.end() || found->second.seconds <= 0)
            continue;
        const double seconds = found->second.seconds;
        Scope* at = &root;
        at->seconds += seconds;
        const std::vector<std::string> parts = partsOf(node.name);
        for (size_t i = 0; i < parts.size(); ++i) {
            // What only repeats the operator says what a node is, not where it belongs.
            if (i + 1 < parts.size() && parts[i] == node.op)
                continue;
            at = &at->inside[parts[i]];
            at->name = parts[i];
            at->seconds += seconds;
        }
        at->node = node.name;
    }
    return root;
}

/// Rows from here on that have anything wide enough to be drawn.
size_t rowsOf(const Scope& scope, double scale) {
    size_t below = 0;
    for (const auto& [name, inner] : scope.inside)
        if (inner.seconds * scale >= narrowest)
            below = std::max(below, rowsOf(inner, scale));
    return below + 1;
}

void draw(Canvas& canvas, const Scope& scope, const std::string& path, double x, size_t row,
          double scale, double all) {
    const double w = scope.seconds * scale, y = top + static_cast<double>(row) * rowHeight;
    const std::string shown = path.empty() ? "model" : path;
    Primitive& bar =
        canvas.rect(x, y, std::max(narrowest, w - 1), rowHeight - 1,
                    "rule-" + std::to_string(std::hash<std::string>()(scope.name) % hues));
    if (!scope.node.empty() && scope.inside.empty())
        bar.id = "n:" + scope.node;
    bar.title = shown + ": " + app::secondsText(scope.seconds) + ", " +
                app::percentText(scope.seconds / all).substr(1) + " of the model";
    const auto letters = static_cast<size_t>(std::max(0.0, w - 6) / letterWidth);
    const std::string& name = path.empty() ? shown : scope.name;
    if (letters >= 3)
        canvas.text(x + 3, y + rowHeight - 6,
                    name.size() <= letters ? name : name.substr(0, letters - 1) + ".");
    std::vector<const Scope*> order;
    for (const auto& [key, inner] : scope.inside)
        if (inner.seconds * scale >= narrowest)
            order.push_back(&inner);
    std::stable_sort(order.begin(), order.end(),
                     [](const Scope* a, const Scope* b) { return a->seconds > b->seconds; });
    for (const Scope* inner : order) {
        draw(canvas, *inner, path.empty() ? inner->name : path + "/" + inner->name, x, row + 1,
             scale, all);
        x += inner->seconds * scale;
    }
}

} // namespace

Chart scopesByTime(const app::Report& report) {
    const Scope root = scopesOf(report);
    const double scale = root.seconds > 0 ? width / root.seconds : 0;
    const size_t rows = root.seconds > 0 ? rowsOf(root, scale) : 0;
    Canvas canvas(std::string("Time by scope before fusion, ") +
                      (report.before.measured ? "measured" : "predicted"),
                  width, top + static_cast<double>(rows) * rowHeight + top);
    canvas.chart.description = app::secondsText(root.seconds) + " in " +
                               std::to_string(root.inside.size()) + " outermost scopes";
    if (rows > 0)
        draw(canvas, root, "", 0, 0, scale, root.seconds);
    return std::move(canvas.chart);
}

} // namespace fuselage::chart
