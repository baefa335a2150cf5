// SPDX-License-Identifier: Apache-2.0
// Second phase of a scene: the tree of containers. Module scopes come from the names that exporters
// write, groups hold what a rule replaced, levels with very many children are cut into slices.
#include "app/report/scene/model_internal.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace fuselage::scene {

namespace {

constexpr size_t maxDepth = 12;
constexpr uint32_t smallestScope = 3; ///< nodes; smaller scopes are not worth a frame

using Path = std::vector<std::string_view>; ///< into the names of items

/// "/layer1/0/conv/Conv" -> layer1, 0, conv; "encoder.layer.0.Add" -> encoder, layer, 0. A name
/// without separators has no scope.
Path scopeOf(const std::string& name) {
    char separator = name.find('/') != std::string::npos ? '/' : '.';
    Path path;
    size_t begin = 0;
    for (size_t at = name.find(separator); at != std::string::npos;
         at = name.find(separator, begin)) {
        if (at > begin && path.size() < maxDepth)
            path.push_back(std::string_view(name).substr(begin, at - begin));
        begin = at + 1;
    }
    return path;
}

/// The same without parts that only repeat the operator ("p2o.Add.3" of an Add, "Conv.17"): they
/// say what a node is, not where it belongs.
Path scopeOf(const std::string& name, std::string_view op) {
    Path path = scopeOf(name);
    std::erase_if(path, [&](std::string_view part) { return part == op; });
    return path;
}

struct ScopeKey {
    uint32_t parent;
    std::string_view label;

    friend bool operator==(const ScopeKey&, const ScopeKey&) = default;
};

struct ScopeHash {
    size_t operator()(const ScopeKey& key) const {
        return std::hash<std::string_view>()(key.label) * 31 + key.parent;
    }
};

void keepCommon(Path& path, const Path& other) {
    size_t n = 0;
    while (n < path.size() && n < other.size() && path[n] == other[n])
        ++n;
    path.resize(n);
}

class TreeBuilder {
public:
    explicit TreeBuilder(Model& model) : m_model(model), m_tree(model.tree) {}

    void run() {
        m_tree.reserve(m_model.items.size() * 2);
        m_tree.emplace_back().kind = TreeNode::Kind::Scope;
        m_model.leafOf.assign(m_model.items.size(), none);
        std::vector<Path> paths = groupPaths();
        for (uint32_t i = 0; i < m_model.items.size(); ++i)
            addItem(i, paths);
        simplify(0);
        openOnlyScope();
        sliceAll();
        compact();
        number();
    }

private:
    std::string_view opOf(const Item& item) const {
        return item.before != none ? m_model.input.before.nodes[item.before].op
                                   : m_model.input.after.nodes[item.after].op;
    }

    std::vector<Path> groupPaths() const;
    void addItem(uint32_t item, const std::vector<Path>& groupPaths);
    uint32_t child(uint32_t parent, TreeNode::Kind kind, std::string label);
    uint32_t scope(const Path& path);
    void simplify(uint32_t node);
    void openOnlyScope();
    void sliceAll();
    void slice(uint32_t node, const std::vector<std::pair<uint32_t, uint32_t>>& crossing);
    void compact();
    void number();

    Model& m_model;
    std::vector<TreeNode>& m_tree;
    std::unordered_map<ScopeKey, uint32_t, ScopeHash> m_scopes;
    std::unordered_map<uint32_t, uint32_t> m_groups;
};

std::vector<Path> TreeBuilder::groupPaths() const {
    std::vector<Path> paths(m_model.groups.size());
    std::vector<bool> started(paths.size(), false);
    for (const Item& item : m_model.items) {
        if (item.group == none || item.before == none)
            continue;
        Path path = scopeOf(item.name, opOf(item));
        if (started[item.group])
            keepCommon(paths[item.group], path);
        else
            paths[item.group] = std::move(path);
        started[item.group] = true;
    }
    return paths;
}

uint32_t TreeBuilder::child(uint32_t parent, TreeNode::Kind kind, std::string label) {
    auto id = static_cast<uint32_t>(m_tree.size());
    TreeNode& node = m_tree.emplace_back();
    node.kind = kind;
    node.parent = parent;
    node.label = std::move(label);
    m_tree[parent].children.push_back(id);
    return id;
}

uint32_t TreeBuilder::scope(const Path& path) {
    uint32_t at = 0;
    for (std::string_view label : path) {
        auto [entry, isNew] = m_scopes.try_emplace({at, label}, 0);
        if (isNew)
            entry->second = child(at, TreeNode::Kind::Scope, std::string(label));
        at = entry->second;
    }
    return at;
}

void TreeBuilder::addItem(uint32_t i, const std::vector<Path>& groupPaths) {
    const Item& item = m_model.items[i];
    uint32_t parent = 0;
    if (item.group != none) {
        auto [entry, isNew] = m_groups.try_emplace(item.group, 0);
        if (isNew) {
            uint32_t around = scope(groupPaths[item.group]);
            entry->second = child(around, TreeNode::Kind::Group, m_model.groups[item.group].badge);
            m_tree[entry->second].group = item.group;
        }
        parent = entry->second;
    } else if (item.kind == Box::Kind::Node || item.kind == Box::Kind::Fused) {
        parent = scope(scopeOf(item.name, opOf(item)));
    }
    m_model.leafOf[i] = child(parent, TreeNode::Kind::Leaf, "");
    m_tree[m_model.leafOf[i]].item = i;
}

/// Small scopes are opened into the scope around them, chains of scopes become one.
void TreeBuilder::simplify(uint32_t node) {
    std::vector<uint32_t> children;
    uint32_t leaves = 0;
    for (uint32_t c : std::vector<uint32_t>(m_tree[node].children)) {
        simplify(c);
        leaves += m_tree[c].nodes[0];
        TreeNode& below = m_tree[c];
        bool scope = below.kind == TreeNode::Kind::Scope;
        if (scope && (below.children.size() < 2 || below.nodes[0] < smallestScope)) {
            bool merged = below.children.size() == 1 &&
                          m_tree[below.children[0]].kind == TreeNode::Kind::Scope;
            for (uint32_t inner : below.children) {
                if (merged)
                    m_tree[inner].label = below.label + "/" + m_tree[inner].label;
                m_tree[inner].parent = node;
                children.push_back(inner);
            }
            continue;
        }
        children.push_back(c);
    }
    m_tree[node].children = std::move(children);
    m_tree[node].nodes[0] = m_tree[node].kind == TreeNode::Kind::Leaf ? 1 : leaves;
}

/// A scope that everything is in ("p2o", "model") says nothing of where things are.
void TreeBuilder::openOnlyScope() {
    uint32_t only = none;
    for (uint32_t child : m_tree[0].children) {
        const TreeNode& node = m_tree[child];
        const bool isEnd = node.kind == TreeNode::Kind::Leaf &&
                           (m_model.items[node.item].kind == Box::Kind::Input ||
                            m_model.items[node.item].kind == Box::Kind::Output);
        if (isEnd)
            continue;
        if (only != none || node.kind != TreeNode::Kind::Scope)
            return;
        only = child;
    }
    if (only == none)
        return;
    std::vector<uint32_t> children;
    for (uint32_t child : m_tree[0].children)
        if (child != only)
            children.push_back(child);
        else
            for (uint32_t inner : m_tree[only].children) {
                m_tree[inner].parent = 0;
                children.push_back(inner);
            }
    m_tree[0].children = std::move(children);
}

/// Cuts long levels where few edges cross; needs the edges between their children.
void TreeBuilder::sliceAll() {
    std::vector<uint32_t> place(m_tree.size(), none);
    bool any = false;
    for (const TreeNode& node : m_tree)
        if (node.kind != TreeNode::Kind::Group && node.children.size() > m_model.options.slice) {
            any = true;
            for (uint32_t i = 0; i < node.children.size(); ++i)
                place[node.children[i]] = i;
        }
    if (!any)
        return;
    // An edge crosses every cut between the children of a long level that hold its ends.
    std::unordered_map<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>> crossings;
    std::vector<uint32_t> path;
    for (const Link& link : m_model.links) {
        path.clear();
        for (uint32_t at = m_model.leafOf[link.from]; at != none; at = m_tree[at].parent)
            path.push_back(at);
        for (uint32_t at = m_model.leafOf[link.to]; at != none; at = m_tree[at].parent) {
            uint32_t parent = m_tree[at].parent;
            auto found = std::find(path.begin(), path.end(), parent);
            if (found == path.end() || found == path.begin())
                continue;
            uint32_t other = *(found - 1);
            if (place[at] != none && place[other] != none && other != at)
                crossings[parent].emplace_back(std::min(place[at], place[other]),
                                               std::max(place[at], place[other]));
            break;
        }
    }
    size_t before = m_tree.size();
    for (uint32_t node = 0; node < before; ++node)
        if (m_tree[node].kind != TreeNode::Kind::Group &&
            m_tree[node].children.size() > m_model.options.slice)
            slice(node, crossings[node]);
}

void TreeBuilder::slice(uint32_t node, const std::vector<std::pair<uint32_t, uint32_t>>& crossing) {
    std::vector<uint32_t> children = std::move(m_tree[node].children);
    m_tree[node].children.clear();
    std::vector<int64_t> crossed(children.size() + 1, 0);
    for (auto [low, high] : crossing) {
        ++crossed[low + 1];
        --crossed[high + 1];
    }
    std::partial_sum(crossed.begin(), crossed.end(), crossed.begin());
    // Slices of slices where one level is not enough.
    size_t most = m_model.options.slice / 2;
    while (children.size() / most > m_model.options.slice)
        most *= 2;
    size_t least = most / 2;
    for (size_t begin = 0; begin < children.size();) {
        size_t end = std::min(begin + most, children.size());
        if (end < children.size())
            for (size_t cut = begin + least; cut < begin + most; ++cut)
                if (crossed[cut] <= crossed[end])
                    end = cut;
        uint32_t part = child(node, TreeNode::Kind::Slice,
                              std::to_string(begin + 1) + " – " + std::to_string(end));
        for (size_t i = begin; i < end; ++i) {
            m_tree[children[i]].parent = part;
            m_tree[part].children.push_back(children[i]);
        }
        begin = end;
    }
}

/// Drops tree nodes that simplify() opened.
void TreeBuilder::compact() {
    std::vector<TreeNode> kept;
    kept.reserve(m_tree.size());
    std::vector<std::pair<uint32_t, uint32_t>> work{{0, none}}; // old node, new parent
    while (!work.empty()) {
        auto [old, parent] = work.back();
        work.pop_back();
        auto id = static_cast<uint32_t>(kept.size());
        TreeNode node = std::move(m_tree[old]);
        node.parent = parent;
        node.depth = parent == none ? 0 : kept[parent].depth + 1;
        if (node.item != none)
            m_model.leafOf[node.item] = id;
        if (parent != none)
            kept[parent].children.push_back(id);
        std::vector<uint32_t> children = std::move(node.children);
        node.children.clear();
        kept.push_back(std::move(node));
        for (auto c = children.rbegin(); c != children.rend(); ++c)
            work.emplace_back(*c, id);
    }
    m_tree = std::move(kept);
}

/// Nodes now stand depth first: leaves below a node are one range, counts add up from behind.
void TreeBuilder::number() {
    for (uint32_t id = 0; id < m_tree.size(); ++id) {
        TreeNode& node = m_tree[id];
        node.firstLeaf = static_cast<uint32_t>(m_model.leaves.size());
        node.lastLeaf = node.firstLeaf;
        node.nodes[0] = node.nodes[1] = 0;
        if (node.isContainer())
            continue;
        m_model.leaves.push_back(id);
        const Item& item = m_model.items[node.item];
        bool counts = item.kind == Box::Kind::Node || item.kind == Box::Kind::Fused;
        node.nodes[0] = counts && (item.sides & Before) ? 1 : 0;
        node.nodes[1] = counts && (item.sides & After) ? 1 : 0;
        ++node.lastLeaf;
    }
    for (auto id = static_cast<uint32_t>(m_tree.size()); id-- > 1;) {
        TreeNode& parent = m_tree[m_tree[id].parent];
        parent.nodes[0] += m_tree[id].nodes[0];
        parent.nodes[1] += m_tree[id].nodes[1];
        parent.lastLeaf = std::max(parent.lastLeaf, m_tree[id].lastLeaf);
    }
}

} // namespace

void buildHierarchy(Model& model) {
    TreeBuilder(model).run();
}

std::string containerId(const Model& model, uint32_t node) {
    std::string path;
    for (uint32_t at = node; at != 0 && at != none; at = model.tree[at].parent) {
        const TreeNode& n = model.tree[at];
        // A badge counts what rules did: the first member says which group it is.
        std::string label =
            n.kind == TreeNode::Kind::Group && !model.groups[n.group].members.empty()
                ? "@" + model.groups[n.group].members.front()
                : n.label;
        path = path.empty() ? label : label + "/" + path;
    }
    return "c:" + path;
}

} // namespace fuselage::scene
