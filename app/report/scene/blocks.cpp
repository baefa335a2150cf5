// SPDX-License-Identifier: Apache-2.0
// Containers that are alike in everything but names (operators, attributes, types, wiring, what was
// fused) are instances of one block; and which containers are shut when a scene is first shown.
#include "app/report/scene/model_internal.h"
#include "core/support/hash.h"

#include <algorithm>
#include <unordered_map>

namespace fuselage::scene {

namespace {

constexpr uint32_t smallestBlock = 4; ///< nodes
constexpr size_t alwaysOpen = 48;     ///< leaves: smaller graphs are shown whole

/// Everything about the inside of a container, names apart.
std::vector<uint64_t> signatureOf(const Model& model, uint32_t node,
                                  const std::vector<uint32_t>& leafNumber,
                                  const std::vector<uint32_t>& firstLink) {
    const TreeNode& top = model.tree[node];
    std::vector<uint64_t> out{static_cast<uint64_t>(top.kind)};
    for (uint32_t at = top.firstLeaf; at < top.lastLeaf; ++at) {
        const TreeNode& leaf = model.tree[model.leaves[at]];
        const Item& item = model.items[leaf.item];
        out.push_back(item.shape);
        out.push_back(item.sides);
        out.push_back(model.tree[leaf.parent].firstLeaf - top.firstLeaf);
        if (item.group != none)
            out.push_back(Hasher().text(model.groups[item.group].rule).value());
        for (uint32_t l = firstLink[leaf.item]; l < firstLink[leaf.item + 1]; ++l) {
            uint32_t to = leafNumber[model.links[l].to];
            if (to < top.firstLeaf || to >= top.lastLeaf)
                continue;
            out.push_back((static_cast<uint64_t>(at - top.firstLeaf) << 32U) |
                          (to - top.firstLeaf));
            out.push_back(model.links[l].sides);
        }
    }
    return out;
}

void hideBelow(Model& model) {
    for (uint32_t id = 1; id < model.tree.size(); ++id) {
        const TreeNode& parent = model.tree[model.tree[id].parent];
        model.tree[id].shown = parent.shown && !parent.collapsed;
    }
}

size_t boxesShown(Model& model) {
    hideBelow(model);
    return static_cast<size_t>(
        std::count_if(model.tree.begin() + 1, model.tree.end(), [](const TreeNode& node) {
            return node.shown && (!node.isContainer() || node.collapsed);
        }));
}

bool mayShut(const TreeNode& node) {
    return node.kind == TreeNode::Kind::Scope || node.kind == TreeNode::Kind::Slice;
}

void shutRepeats(Model& model) {
    for (uint32_t id = 1; id < model.tree.size(); ++id) {
        TreeNode& node = model.tree[id];
        if (mayShut(node) && node.instance > 0)
            node.collapsed = true;
    }
}

/// From the deepest level up, until few enough boxes are left.
void shutDeepest(Model& model) {
    uint32_t depth = 0;
    for (const TreeNode& node : model.tree)
        if (mayShut(node))
            depth = std::max(depth, node.depth);
    for (; depth > 0 && boxesShown(model) > model.options.maxBoxes; --depth)
        for (TreeNode& node : model.tree)
            if (mayShut(node) && node.depth == depth)
                node.collapsed = true;
}

} // namespace

void findBlocks(Model& model) {
    std::vector<uint32_t> leafNumber(model.items.size(), 0), firstLink(model.items.size() + 1, 0);
    for (uint32_t at = 0; at < model.leaves.size(); ++at)
        leafNumber[model.tree[model.leaves[at]].item] = at;
    for (const Link& link : model.links)
        ++firstLink[link.from + 1];
    for (size_t i = 1; i < firstLink.size(); ++i)
        firstLink[i] += firstLink[i - 1];
    // A hash finds candidates, the whole signature decides.
    std::unordered_map<uint64_t, std::vector<std::pair<uint32_t, std::vector<uint64_t>>>> known;
    for (uint32_t id = 1; id < model.tree.size(); ++id) {
        TreeNode& node = model.tree[id];
        if (!node.isContainer() || node.nodes[0] < smallestBlock)
            continue;
        std::vector<uint64_t> signature = signatureOf(model, id, leafNumber, firstLink);
        uint64_t hash =
            Hasher().bytes(signature.data(), signature.size() * sizeof(uint64_t)).value();
        for (auto& [block, first] : known[hash])
            if (signature == first)
                node.block = block;
        if (node.block == none) {
            node.block = static_cast<uint32_t>(model.blockSize.size());
            model.blockSize.push_back(0);
            known[hash].emplace_back(node.block, std::move(signature));
        }
        node.instance = model.blockSize[node.block]++;
    }
}

void decideCollapse(Model& model) {
    const Options& options = model.options;
    if (options.collapse == Options::Collapse::Blocks) {
        for (TreeNode& node : model.tree)
            node.collapsed = mayShut(node) && node.depth >= 1;
    } else if (options.collapse == Options::Collapse::Default) {
        if (model.leaves.size() > alwaysOpen)
            shutRepeats(model);
        shutDeepest(model);
    }
    if (!options.expanded.empty() || !options.collapsed.empty())
        for (uint32_t id = 1; id < model.tree.size(); ++id) {
            if (!model.tree[id].isContainer())
                continue;
            std::string path = containerId(model, id);
            if (options.collapsed.contains(path))
                model.tree[id].collapsed = true;
            if (options.expanded.contains(path))
                model.tree[id].collapsed = false;
        }
    hideBelow(model);
}

uint32_t Model::drawn(uint32_t item) const {
    uint32_t at = leafOf[item];
    while (!tree[at].shown)
        at = tree[at].parent;
    return at;
}

} // namespace fuselage::scene
