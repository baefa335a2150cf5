// SPDX-License-Identifier: Apache-2.0
// `many`: disjoint instances of a block around the values that the rest of the match bound. Each
// instance is settled when found, those with a value that may not escape last; only their number
// and `all` can fail afterwards.
#include "core/rewrite/matcher_internal.h"

#include <algorithm>

namespace fuselage {

bool Search::matchManys(const BlockPlan& plan, size_t index, Next next) {
    if (index == plan.manys.size())
        return next();
    const Many& many = plan.block->manys[index];
    const BlockPlan& inner = plan.manys[index];
    if (inner.roots.empty())
        return false;
    Mark before = mark();
    std::vector<Instance> found;
    std::vector<NodeId> escaping;
    // From the last to the first: an instance takes what it may before one that ends earlier does.
    const VectorPool<NodeId>::Loan loan(m_scratch.nodes);
    std::vector<NodeId>& ends = *loan;
    findCandidates(inner.rootFacts[0], ends);
    for (size_t i = ends.size(); i-- > 0 && found.size() < many.most;) {
        if (!spend())
            return true;
        if (takeInstance(many, inner, ends[i], found) && found.back().escapes) {
            giveBack(found);
            escaping.push_back(ends[i]);
        }
    }
    // Without these the match would be too small; with them it says which value stands in the way.
    const size_t most = found.size() < many.least ? many.most : 0;
    for (size_t i = 0; i < escaping.size() && found.size() < most; ++i)
        takeInstance(many, inner, escaping[i], found);
    std::reverse(found.begin(), found.end());
    if (found.size() < many.least) {
        // Noted before the instances are given back: they are how far it came.
        miss(code::instances, nullptr, {}, {}, [&] {
            return std::pair(std::to_string(found.size()) + " instances",
                             std::to_string(many.least) + " or more");
        });
        std::string range = std::to_string(std::max<size_t>(found.size(), 1));
        suggest("write `many " + range + ".." + std::to_string(many.most) + "`",
                RuleEdit{RuleEdit::Kind::Replace, many.span, std::to_string(many.least) + "..",
                         range + ".."});
        undo(before);
        return false;
    }
    if (many.all && !coversAllUsers(inner)) {
        suggest("leave `all` out, if readers outside do no harm",
                RuleEdit{RuleEdit::Kind::Replace, many.span, " all", ""});
        undo(before);
        return false;
    }
    for (size_t i = 0; i < inner.inside.size(); ++i) {
        Binding list{Binding::Kind::List, {}, {}};
        for (Instance& instance : found)
            list.items.push_back(std::move(instance.slots[i]));
        bindSlot(inner.inside[i], std::move(list));
    }
    for (size_t i = 0; i < many.dims.size(); ++i) {
        DimBinding list{true, true, {}, {}};
        for (Instance& instance : found)
            list.items.push_back(std::move(instance.dims[i]));
        bindDim(many.dims[i], std::move(list));
    }
    if (matchManys(plan, index + 1, next))
        return true;
    undo(before);
    return false;
}

/// Adds the instance that ends at this root, if there is one, and takes its nodes.
bool Search::takeInstance(const Many& many, const BlockPlan& plan, NodeId root,
                          std::vector<Instance>& found) {
    Instance instance;
    instance.before = mark();
    if (m_used[root.index()] != 0 || !findInstance(many, plan, root, instance))
        return false;
    for (NodeId node : instance.nodes)
        take(node);
    for (RegionBinding& region : instance.regions)
        addRegion(std::move(region));
    found.push_back(std::move(instance));
    return true;
}

/// Takes the last instance back, with its nodes.
void Search::giveBack(std::vector<Instance>& found) {
    undo(found.back().before);
    found.pop_back();
}

/// The first way in which the block matches from this root; leaves the state as it was.
bool Search::findInstance(const Many& many, const BlockPlan& plan, NodeId root, Instance& out) {
    Mark before = mark();
    size_t nodesBefore = m_nodes.size(), regionsBefore = m_regions.size();
    bool found = false;
    auto keep = [&] {
        found = true;
        for (SlotIndex slot : plan.inside)
            out.slots.push_back(m_slots[slot].bound() ? m_slots[slot] : Binding::none());
        for (uint32_t dim : many.dims)
            out.dims.push_back(m_dims[dim]);
        out.nodes.assign(m_nodes.begin() + static_cast<std::ptrdiff_t>(nodesBefore), m_nodes.end());
        out.regions.assign(m_regions.begin() + static_cast<std::ptrdiff_t>(regionsBefore),
                           m_regions.end());
        out.escapes = instanceEscapes(plan, root, out.nodes);
        return true;
    };
    const std::vector<ValueId>& outputs = m_graph.node(root).outputs;
    auto first =
        std::find_if(outputs.begin(), outputs.end(), [](ValueId value) { return value.valid(); });
    auto others = [&] { return matchRoots(plan, 1, keep); };
    ++m_inInstance;
    if (first != outputs.end())
        matchRootAt(many.block.definitions[plan.roots[0]], *first, others);
    --m_inInstance;
    undo(before);
    return found;
}

bool Search::coversAllUsers(const BlockPlan& plan) {
    for (SlotIndex slot : plan.outside) {
        if (m_slots[slot].kind != Binding::Kind::Value)
            continue;
        ValueId value = m_slots[slot].value;
        for (const Use& use : m_graph.value(value).uses)
            if (m_used[use.node.index()] == 0) {
                miss(code::allUsers, nullptr, use.node, value, [&] {
                    return std::pair("`" + m_graph.node(use.node).name + "` reads `" +
                                         m_graph.value(value).name + "`",
                                     std::string("every reader in an instance"));
                });
                return false;
            }
    }
    return true;
}

} // namespace fuselage
