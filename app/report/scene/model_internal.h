// SPDX-License-Identifier: Apache-2.0
// What the phases of build() hand on, in order: prepare (items, links, groups) -> hierarchy (the
// tree, slices, blocks, what is shut) -> project (edges of each container, tunnels) -> compose
// (sizes, places) -> emit (boxes and edges with their texts).
#pragma once

#include "app/report/scene/build.h"
#include "app/report/scene/pairs_internal.h"

#include <string>
#include <vector>

namespace fuselage::scene {

/// One thing to lay out: a node of one or both sides, an input, an output. Items stand in
/// canonical order: producers first, on either side.
struct Item {
    Box::Kind kind = Box::Kind::Node;
    std::string name;
    uint8_t sides = Both;
    uint32_t before = none, after = none; ///< nodes, or values of inputs and outputs
    uint32_t group = none;
    uint64_t shape = 0; ///< hash of operator, attributes and types
};

/// All values from one item to another.
struct Link {
    uint32_t from = 0, to = 0; ///< items
    uint8_t sides = 0;
    uint32_t values = 0; ///< the larger of both sides
    double bytes = -1;
    std::string label, value; ///< of the first one
    std::string stored = {};  ///< of the first one that is quantised
};

struct TreeNode {
    enum class Kind : uint8_t { Leaf, Scope, Slice, Group };

    Kind kind = Kind::Leaf;
    uint32_t item = none;  ///< of a leaf
    uint32_t group = none; ///< of a group
    uint32_t parent = none;
    uint32_t depth = 0;
    std::string label;
    std::vector<uint32_t> children;
    uint32_t firstLeaf = 0, lastLeaf = 0; ///< range in Model::leaves
    uint32_t nodes[2] = {0, 0};
    uint32_t block = none, instance = 0;
    bool collapsed = false;
    bool shown = true; ///< no container around it is collapsed

    bool isContainer() const { return kind != Kind::Leaf; }
};

struct Model {
    const Input& input;
    const Options& options;
    Progress& progress;
    std::vector<Item> items;
    std::vector<Link> links; ///< sorted by from, to
    std::vector<Group> groups;
    std::vector<LegendRow> legend;
    std::vector<TreeNode> tree;         ///< 0 is the root
    std::vector<uint32_t> leaves;       ///< tree nodes of items in depth-first order
    std::vector<uint32_t> leafOf;       ///< tree node of each item
    std::vector<uint32_t> blockSize;    ///< instances of each block
    const FoldedPairs* pairs = nullptr; ///< what `input` has no nodes for; none: nothing

    bool isLeafLike(uint32_t node) const {
        return !tree[node].isContainer() || tree[node].collapsed;
    }

    /// The tree node that is drawn for an item: itself, or the outermost shut container around it.
    uint32_t drawn(uint32_t item) const;
};

/// An edge between two tree nodes that are drawn.
struct DrawnEdge {
    uint32_t from = 0, to = 0; ///< tree nodes
    uint32_t inside = 0;       ///< their innermost common container
    uint32_t level = 0;        ///< position in Level::edges of `inside`
    std::vector<uint32_t> links;
    bool tunnel = false;
};

/// The edges between the children of one container, and those that come in or go out.
struct Level {
    std::vector<LayoutEdge> edges; ///< ends are positions among the children
    std::vector<bool> used;        ///< some drawn edge follows it
    std::vector<uint32_t> ranks;
    std::vector<uint32_t> entries,
        exits; ///< children, sorted: edges cross the frame to or from them

    // Ways in the container's own coordinates, filled by compose.
    std::vector<std::vector<Point>> bends;               ///< of `edges`
    std::vector<std::vector<Point>> entryWays, exitWays; ///< of `entries` and `exits`
};

struct Projection {
    std::vector<DrawnEdge> edges;
    std::vector<Level> levels; ///< of each tree node
};

/// Places of tree nodes; those of boxes hold the box and the room for its stubs.
struct Placement {
    std::vector<Rect> before, after; ///< they differ inside of groups only
};

struct StubText {
    std::string label;
    bool outgoing = false;
    std::vector<uint32_t> edges; ///< of the Projection
    size_t count[2] = {0, 0};    ///< of them before and after
    double width = 0;
};

/// What is written in and beside a box; decides its size.
struct Label {
    std::string title;
    std::vector<std::string> lines;
    std::vector<Badge> badges;
    double width = 0, height = 0;
    std::vector<StubText> stubs;
    double stubRoom = 0;    ///< on each side
    double storedWidth = 0; ///< of the badges of edges that come in
};

void prepare(Model& model);
void buildHierarchy(Model& model);
void findBlocks(Model& model);
void decideCollapse(Model& model);
Projection project(const Model& model);
/// Labels of drawn leaves and shut containers, by tree node.
std::vector<Label> makeLabels(const Model& model, const Projection& projection);
Result<Placement> compose(const Model& model, const std::vector<Label>& labels,
                          LayoutEngine& engine, Projection& projection);
Scene emit(const Model& model, const Projection& projection, const std::vector<Label>& labels,
           const Placement& placement);

/// How all values of the edge are quantised; empty where they differ.
std::string storedOn(const Model& model, const DrawnEdge& edge);

/// "c:layer1/0": stable between builds.
std::string containerId(const Model& model, uint32_t node);

} // namespace fuselage::scene
