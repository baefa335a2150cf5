// SPDX-License-Identifier: Apache-2.0
#include "app/studio/layout/dot.h"

#include <algorithm>
#include <gvc.h>
#include <string>

extern gvplugin_library_t gvplugin_dot_layout_LTX_library;

namespace fuselage::studio {

namespace {

using scene::LayoutRequest;
using scene::LayoutResult;
using scene::Point;

constexpr double inch = 72; ///< Graphviz measures nodes in inches and places in points

/// The plug-in is linked, so that no configuration file of the system is asked for.
GVC_t* context() {
    static lt_symlist_t plugins[] = {
        {const_cast<char*>("gvplugin_dot_layout_LTX_library"), &gvplugin_dot_layout_LTX_library},
        {nullptr, nullptr}};
    static GVC_t* only = gvContextPlugins(plugins, 0); // each one leaks: one is enough
    return only;
}

void set(void* object, const char* name, const std::string& value) {
    agsafeset(object, const_cast<char*>(name), const_cast<char*>(value.c_str()),
              const_cast<char*>(""));
}

std::string inches(double points) {
    return std::to_string(points / inch);
}

/// Ports have no height; those of the first and last row stay there.
void pin(Agraph_t* graph, const std::vector<Agnode_t*>& nodes, const LayoutRequest& request) {
    uint32_t last = *std::max_element(request.ranks.begin(), request.ranks.end());
    Agraph_t* rows[2] = {nullptr, nullptr};
    for (size_t i = 0; i < nodes.size(); ++i) {
        bool top = request.ranks[i] == 0;
        if (request.sizes[i].h > 0 || (!top && request.ranks[i] != last))
            continue;
        Agraph_t*& row = rows[top ? 0 : 1];
        if (!row) {
            row = agsubg(graph, const_cast<char*>(top ? "entries" : "exits"), 1);
            set(row, "rank", top ? "source" : "sink");
        }
        agsubnode(row, nodes[i], 1);
    }
}

std::vector<Point> bendsOf(Agedge_t* edge, double height) {
    std::vector<Point> out;
    const splines* curve = ED_spl(edge);
    if (!curve || curve->size == 0)
        return out;
    const bezier& piece = curve->list[0];
    // Every third point lies on the curve; the first and the last are at the boxes.
    for (size_t i = 3; i + 3 < static_cast<size_t>(piece.size); i += 3)
        out.push_back({piece.list[i].x, height - piece.list[i].y});
    return out;
}

} // namespace

std::optional<LayoutResult> dotLayout(const LayoutJob& job) {
    const LayoutRequest& request = job.request;
    Agraph_t* graph = agopen(const_cast<char*>("g"), Agdirected, nullptr);
    set(graph, "rankdir", "TB");
    set(graph, "nodesep", inches(request.columnGap));
    set(graph, "ranksep", inches(request.rowGap));
    set(graph, "splines", "polyline");
    if (job.effort == Effort::Limited) {
        set(graph, "nslimit", "1");
        set(graph, "nslimit1", "1");
        set(graph, "mclimit", "0.1");
        set(graph, "splines", "line");
    }
    std::vector<Agnode_t*> nodes;
    for (const LayoutRequest::Size& size : request.sizes) {
        Agnode_t* node = agnode(graph, const_cast<char*>(std::to_string(nodes.size()).c_str()), 1);
        set(node, "shape", "box");
        set(node, "fixedsize", "true"); // and no label: fonts are never asked for
        set(node, "label", "");
        set(node, "width", inches(size.w));
        set(node, "height", inches(std::max(size.h, 1.0)));
        nodes.push_back(node);
    }
    std::vector<Agedge_t*> edges;
    for (const scene::LayoutEdge& each : request.edges) {
        std::string name = std::to_string(edges.size());
        Agedge_t* edge =
            agedge(graph, nodes[each.from], nodes[each.to], const_cast<char*>(name.c_str()), 1);
        set(edge, "weight", std::to_string(each.weight));
        set(edge, "arrowhead", "none");
        edges.push_back(edge);
    }
    if (!request.ranks.empty())
        pin(graph, nodes, request);
    std::optional<LayoutResult> out;
    if (gvLayout(context(), graph, "dot") == 0) {
        out.emplace();
        out->width = GD_bb(graph).UR.x;
        out->height = GD_bb(graph).UR.y;
        for (size_t i = 0; i < nodes.size(); ++i)
            out->places.push_back({ND_coord(nodes[i]).x - request.sizes[i].w / 2,
                                   out->height - ND_coord(nodes[i]).y - request.sizes[i].h / 2});
        for (Agedge_t* edge : edges)
            out->bends.push_back(bendsOf(edge, out->height));
        for (size_t i = 0; i < nodes.size(); ++i)
            if (request.sizes[i].h == 0 && request.ranks[i] == 0)
                out->places[i].y = 0;
        gvFreeLayout(context(), graph);
    }
    agclose(graph);
    return out;
}

} // namespace fuselage::studio
