// SPDX-License-Identifier: Apache-2.0
// Names on a command line or in a selection -> nodes that one rule could take.
#include "app/pipeline/derive_internal.h"
#include "core/graph/subgraph.h"
#include "core/rewrite/convexity.h"
#include "core/support/text.h"
#include "dsl/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace fuselage::app {

namespace {

constexpr size_t namesSuggested = 3;

/// The names that are nearest, or end alike: exporters put scopes in front.
std::string nearestNames(const std::string& name, std::vector<std::string> known) {
    std::vector<std::string> out;
    for (const std::string& each : known)
        if (out.size() < namesSuggested && each.size() > name.size() && each.ends_with("/" + name))
            out.push_back(each);
    while (out.size() < namesSuggested) {
        std::string near = dsl::closest(name, known);
        if (near.empty())
            break;
        std::erase(known, near);
        if (std::find(out.begin(), out.end(), near) == out.end())
            out.push_back(near);
    }
    if (out.empty())
        return "`fuselage inspect --graph` lists the nodes";
    return "nearest: " + joined(out, [](const auto& each) { return "`" + each + "`"; });
}

Result<SiteNodes> resolveSite(const Graph& graph, const std::vector<std::string>& names,
                              const std::unordered_map<std::string, NodeId>& byName) {
    SiteNodes out;
    for (const std::string& name : names) {
        auto found = byName.find(name);
        if (found == byName.end()) {
            std::vector<std::string> known;
            for (NodeId id : topologicalOrder(graph))
                known.push_back(graph.node(id).name);
            return failure("derive.nodes", "the graph has no node `" + name + "`", "",
                           nearestNames(name, std::move(known)));
        }
        if (ruleNameOf(graph.node(found->second).op).empty())
            return failure("derive.operator", "rules cannot name the operator of `" + name + "`",
                           name, "leave it out of the selection");
        if (std::find(out.begin(), out.end(), found->second) == out.end())
            out.push_back(found->second);
    }
    if (out.empty())
        return failure("derive.nodes", "no nodes to derive a rule from", "",
                       "select nodes of the graph before fusion");
    return out;
}

/// A path that leaves the nodes and comes back names what has to join them.
Result<void> requireConvex(const Graph& graph, const Convexity& convexity, const SiteNodes& site) {
    std::vector<NodeId> path = convexity.cycleOf(site, escapingValues(graph, site));
    if (path.empty())
        return {};
    std::string between;
    for (NodeId id : path)
        if (std::find(site.begin(), site.end(), id) == site.end())
            between += (between.empty() ? "`" : ", `") + graph.node(id).name + "`";
    return failure("derive.convex",
                   fmt::format("{} lies between these nodes: it reads one of them, and `{}` reads "
                               "what follows from it",
                               between, graph.node(path.back()).name),
                   "",
                   fmt::format("add {}, or leave `{}` out", between, graph.node(path.back()).name));
}

} // namespace

Result<std::vector<SiteNodes>> resolveSites(const Graph& graph,
                                            const std::vector<std::vector<std::string>>& sites) {
    std::vector<NodeId> order = topologicalOrder(graph);
    std::unordered_map<std::string, NodeId> byName;
    std::unordered_map<uint32_t, size_t> rank;
    for (NodeId id : order) {
        byName.emplace(graph.node(id).name, id);
        rank.emplace(id.index(), rank.size());
    }
    Convexity convexity(graph);
    std::unordered_map<uint32_t, size_t> owner;
    std::vector<SiteNodes> out;
    for (const std::vector<std::string>& names : sites) {
        auto site = resolveSite(graph, names, byName);
        if (!site)
            return failure(site.error());
        std::sort(site->begin(), site->end(),
                  [&](NodeId a, NodeId b) { return rank[a.index()] < rank[b.index()]; });
        for (NodeId id : *site)
            if (!owner.emplace(id.index(), out.size()).second)
                return failure("derive.nodes",
                               "`" + graph.node(id).name + "` is in two of the sites", "",
                               "sites of one rule share no node");
        if (auto convex = requireConvex(graph, convexity, *site); !convex)
            return failure(convex.error());
        out.push_back(std::move(*site));
    }
    if (out.empty())
        return failure("derive.nodes", "no nodes to derive a rule from", "",
                       "name nodes: --nodes A,B,C");
    return out;
}

} // namespace fuselage::app
