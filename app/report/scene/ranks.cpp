// SPDX-License-Identifier: Apache-2.0
// Rows of a layered drawing by longest paths; graphs of containers may have cycles, which are cut
// where the preferred order says.
#include "app/report/scene/layout.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace fuselage::scene {

namespace {

struct Wiring {
    std::vector<std::vector<uint32_t>> out; ///< edges that leave each node
    std::vector<uint32_t> waiting;          ///< predecessors not yet placed
};

Wiring wire(size_t nodes, const std::vector<LayoutEdge>& edges) {
    Wiring w{std::vector<std::vector<uint32_t>>(nodes), std::vector<uint32_t>(nodes, 0)};
    for (uint32_t e = 0; e < edges.size(); ++e) {
        w.out[edges[e].from].push_back(e);
        ++w.waiting[edges[e].to];
    }
    return w;
}

/// Kahn's order, smallest index first; on a cycle the smallest node that is left goes next.
std::vector<uint32_t> orderOf(size_t nodes, const std::vector<LayoutEdge>& edges, Wiring& w) {
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    std::vector<bool> placed(nodes, false);
    for (uint32_t n = 0; n < nodes; ++n)
        if (w.waiting[n] == 0)
            ready.push(n);
    std::vector<uint32_t> order;
    uint32_t next = 0;
    while (order.size() < nodes) {
        if (ready.empty()) {
            while (placed[next])
                ++next;
            ready.push(next);
        }
        uint32_t node = ready.top();
        ready.pop();
        if (placed[node])
            continue;
        placed[node] = true;
        order.push_back(node);
        for (uint32_t e : w.out[node])
            if (--w.waiting[edges[e].to] == 0 && !placed[edges[e].to])
                ready.push(edges[e].to);
    }
    return order;
}

} // namespace

std::vector<uint32_t> longestPathRanks(size_t nodes, const std::vector<LayoutEdge>& edges,
                                       std::vector<bool>& backward) {
    Wiring w = wire(nodes, edges);
    std::vector<uint32_t> order = orderOf(nodes, edges, w);
    std::vector<uint32_t> position(nodes), ranks(nodes, 0);
    for (uint32_t i = 0; i < nodes; ++i)
        position[order[i]] = i;
    backward.assign(edges.size(), false);
    std::vector<bool> fed(nodes, false);
    for (uint32_t node : order)
        for (uint32_t e : w.out[node]) {
            uint32_t to = edges[e].to;
            backward[e] = position[to] <= position[node];
            if (backward[e])
                continue;
            fed[to] = true;
            ranks[to] = std::max(ranks[to], ranks[node] + 1);
        }
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
        if (fed[*node])
            continue;
        uint32_t reader = none;
        for (uint32_t e : w.out[*node])
            if (!backward[e])
                reader = std::min(reader, ranks[edges[e].to]);
        if (reader != none)
            ranks[*node] = reader - 1;
    }
    return ranks;
}

} // namespace fuselage::scene
