// SPDX-License-Identifier: Apache-2.0
// First phase of a scene: both graphs become one list of items in canonical order, links between
// them, and groups (what was replaced by what). Constants are no items: they become badges.
#include "app/report/scene/model_internal.h"
#include "core/support/depth_first.h"
#include "core/support/hash.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace fuselage::scene {

namespace {

using app::GraphNodeReport;
using app::GraphReport;

constexpr uint32_t omitted = GraphNodeReport::omitted;

std::vector<uint32_t> producersOf(const GraphReport& graph) {
    std::vector<uint32_t> producers(graph.values.size(), none);
    for (uint32_t n = 0; n < graph.nodes.size(); ++n)
        for (uint32_t value : graph.nodes[n].outputs)
            if (value != omitted)
                producers[value] = n;
    return producers;
}

/// Position of each node in an order that depends on the wiring only: depth first from the outputs,
/// inputs in order, then the rest by name.
std::vector<uint32_t> canonicalOrder(const GraphReport& graph) {
    const std::vector<uint32_t> producers = producersOf(graph);
    auto producerOf = [&](uint32_t value) { return value == omitted ? none : producers[value]; };
    DepthFirstOrder depthFirst(
        graph.nodes.size(), [&](uint32_t node) { return graph.nodes[node].inputs.size(); },
        [&](uint32_t node, size_t input) { return producerOf(graph.nodes[node].inputs[input]); });
    for (uint32_t value : graph.outputs)
        depthFirst.visit(producerOf(value));
    std::vector<uint32_t> rest(graph.nodes.size()), position(graph.nodes.size());
    std::iota(rest.begin(), rest.end(), 0);
    std::sort(rest.begin(), rest.end(),
              [&](uint32_t a, uint32_t b) { return graph.nodes[a].name < graph.nodes[b].name; });
    for (uint32_t node : rest)
        depthFirst.visit(node);
    for (uint32_t at = 0; at < position.size(); ++at)
        position[depthFirst.order()[at]] = at;
    return position;
}

uint64_t shapeOf(const GraphReport& graph, const GraphNodeReport& node) {
    Hasher hash;
    hash.text(node.op);
    for (const auto& [name, value] : node.attributes)
        hash.text(name).text(value);
    for (uint32_t value : node.outputs)
        hash.text(value == omitted ? "" : graph.values[value].type);
    for (uint32_t value : node.inputs)
        hash.text(value != omitted && graph.values[value].constant ? graph.values[value].type : "");
    return hash.value();
}

/// Where an item stands: after everything that it reads, on either side.
using Key = std::tuple<uint32_t, uint32_t, uint32_t>;

class Preparation {
public:
    explicit Preparation(Model& model)
        : m_model(model), m_before(model.input.before), m_after(model.input.after),
          m_beforeOrder(canonicalOrder(m_before)), m_afterOrder(canonicalOrder(m_after)),
          m_itemOfBefore(m_before.nodes.size(), none), m_itemOfAfter(m_after.nodes.size(), none) {}

    void run() {
        addEnds(m_before.inputs, m_after.inputs, Box::Kind::Input, 0);
        addBefore();
        addAfter();
        addEnds(m_before.outputs, m_after.outputs, Box::Kind::Output, 0xfffffffeU);
        joinSources();
        sortItems();
        makeGroups();
        makeLinks();
    }

private:
    uint32_t add(Item item, Key key) {
        m_model.items.push_back(std::move(item));
        m_keys.push_back(key);
        m_parent.push_back(static_cast<uint32_t>(m_parent.size()));
        return m_parent.back();
    }

    void addEnds(const std::vector<uint32_t>& before, const std::vector<uint32_t>& after,
                 Box::Kind kind, uint32_t anchor);
    void addBefore();
    void addAfter();
    void joinSources();
    void sortItems();
    void makeGroups();
    void nameGroups(const std::vector<std::vector<uint32_t>>& groups);
    void makeLinks();

    uint32_t root(uint32_t item) {
        while (m_parent[item] != item)
            item = m_parent[item] = m_parent[m_parent[item]];
        return item;
    }

    struct RawLink {
        uint32_t from, to;
        uint8_t side;
        const app::GraphValueReport* value;
    };

    std::string storedAt(uint32_t item, const std::string& value) const {
        if (m_model.pairs == nullptr)
            return {};
        auto found = m_model.pairs->stored.find(FoldedPairs::key(m_model.items[item].name, value));
        return found == m_model.pairs->stored.end() ? std::string() : found->second;
    }

    void collect(const GraphReport& graph, uint8_t side, const std::vector<uint32_t>& itemOf,
                 std::vector<RawLink>& out) const;

    Model& m_model;
    const GraphReport& m_before;
    const GraphReport& m_after;
    std::vector<uint32_t> m_beforeOrder, m_afterOrder;
    std::vector<uint32_t> m_itemOfBefore, m_itemOfAfter; ///< of nodes
    std::unordered_map<std::string, uint32_t> m_inputItem, m_outputItem;
    std::unordered_map<std::string_view, uint32_t> m_byName; ///< items of nodes before
    std::vector<Key> m_keys;
    std::vector<uint32_t> m_parent; ///< union-find: one group
};

void Preparation::addEnds(const std::vector<uint32_t>& before, const std::vector<uint32_t>& after,
                          Box::Kind kind, uint32_t anchor) {
    auto& known = kind == Box::Kind::Input ? m_inputItem : m_outputItem;
    auto side = [&](const GraphReport& graph, const std::vector<uint32_t>& values, uint8_t bit) {
        for (uint32_t i = 0; i < values.size(); ++i) {
            const std::string& name = graph.values[values[i]].name;
            auto [entry, isNew] = known.try_emplace(name, 0);
            if (isNew) {
                Item item;
                item.kind = kind;
                item.name = name;
                item.sides = 0;
                entry->second = add(std::move(item), {anchor, bit, i});
            }
            Item& item = m_model.items[entry->second];
            item.sides |= bit;
            (bit == Before ? item.before : item.after) = values[i];
        }
    };
    side(m_before, before, Before);
    side(m_after, after, After);
}

void Preparation::addBefore() {
    m_byName.reserve(m_before.nodes.size());
    m_model.items.reserve(m_before.nodes.size() + m_after.nodes.size());
    for (uint32_t n = 0; n < m_before.nodes.size(); ++n) {
        Item item;
        item.name = m_before.nodes[n].name;
        item.sides = Before;
        item.before = n;
        item.shape = shapeOf(m_before, m_before.nodes[n]);
        if (m_before.nodes[n].fused)
            item.kind = Box::Kind::Fused;
        m_itemOfBefore[n] = add(std::move(item), {m_beforeOrder[n] + 1, 0, 0});
        m_byName.emplace(m_before.nodes[n].name, m_itemOfBefore[n]);
    }
}

/// Nodes of the model that were not touched are found again by name. What a rule made stands with
/// the last of its sources, anything else after what it reads.
void Preparation::addAfter() {
    std::vector<uint32_t> order(m_after.nodes.size());
    for (uint32_t n = 0; n < order.size(); ++n)
        order[m_afterOrder[n]] = n;
    std::vector<uint32_t> producers = producersOf(m_after);
    for (uint32_t n : order) {
        const GraphNodeReport& node = m_after.nodes[n];
        auto same = m_byName.find(node.name);
        bool made = node.fused || !node.sources.empty();
        if (same != m_byName.end() && !made && m_model.items[same->second].after == none) {
            m_model.items[same->second].sides = Both;
            m_model.items[same->second].after = n;
            m_itemOfAfter[n] = same->second;
            continue;
        }
        uint32_t anchor = 0;
        for (const std::string& source : node.sources)
            if (auto found = m_byName.find(source); found != m_byName.end())
                anchor = std::max(anchor, std::get<0>(m_keys[found->second]));
        if (anchor == 0)
            for (uint32_t value : node.inputs)
                if (value != omitted && producers[value] != none &&
                    m_itemOfAfter[producers[value]] != none)
                    anchor = std::max(anchor, std::get<0>(m_keys[m_itemOfAfter[producers[value]]]));
        Item item;
        item.kind = node.fused ? Box::Kind::Fused : Box::Kind::Node;
        item.name = node.name;
        item.sides = After;
        item.after = n;
        item.shape = shapeOf(m_after, node);
        m_itemOfAfter[n] = add(std::move(item), {anchor, 1, m_afterOrder[n]});
    }
}

void Preparation::joinSources() {
    std::unordered_map<std::string_view, uint32_t> opened; ///< by fused node, an item inside of it
    for (uint32_t n = 0; n < m_after.nodes.size(); ++n) {
        const GraphNodeReport& node = m_after.nodes[n];
        if (!node.inside.empty() && !node.sources.empty()) {
            auto [first, isNew] = opened.try_emplace(node.inside, m_itemOfAfter[n]);
            if (!isNew)
                m_parent[root(m_itemOfAfter[n])] = root(first->second);
        }
        for (const std::string& source : node.sources)
            if (auto found = m_byName.find(source);
                found != m_byName.end() && m_model.items[m_itemOfAfter[n]].sides == After)
                m_parent[root(found->second)] = root(m_itemOfAfter[n]);
    }
}

void Preparation::sortItems() {
    auto count = static_cast<uint32_t>(m_model.items.size());
    std::vector<uint32_t> order(count), rank(count), parent(count);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return m_keys[a] < m_keys[b]; });
    std::vector<Item> sorted;
    sorted.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
        rank[order[i]] = i;
        sorted.push_back(std::move(m_model.items[order[i]]));
    }
    for (uint32_t i = 0; i < count; ++i)
        parent[rank[i]] = rank[root(i)];
    m_model.items = std::move(sorted);
    m_parent = std::move(parent);
    for (auto* table : {&m_itemOfBefore, &m_itemOfAfter})
        for (uint32_t& item : *table)
            item = rank[item];
    for (auto* names : {&m_inputItem, &m_outputItem})
        for (auto& [name, item] : *names)
            item = rank[item];
}

void Preparation::makeGroups() {
    std::vector<uint32_t> groupOf(m_model.items.size(), none);
    std::vector<std::vector<uint32_t>> groups;
    std::vector<uint32_t> sizes(m_model.items.size(), 0);
    for (uint32_t i = 0; i < m_model.items.size(); ++i)
        ++sizes[root(i)];
    for (uint32_t i = 0; i < m_model.items.size(); ++i) {
        uint32_t top = root(i);
        if (sizes[top] < 2)
            continue;
        if (groupOf[top] == none) {
            groupOf[top] = static_cast<uint32_t>(groups.size());
            groups.emplace_back();
        }
        m_model.items[i].group = groupOf[top];
        groups[groupOf[top]].push_back(i);
    }
    nameGroups(groups);
}

std::string letterOf(size_t index) {
    std::string out(1, static_cast<char>('A' + index % 26));
    return index < 26 ? out : letterOf(index / 26 - 1) + out;
}

void Preparation::nameGroups(const std::vector<std::vector<uint32_t>>& groups) {
    constexpr size_t hues = 12;
    std::unordered_map<std::string, size_t> rows;
    const auto rowOf = [&](const std::string& rule) {
        auto [row, isNew] = rows.try_emplace(rule, m_model.legend.size());
        if (isNew)
            m_model.legend.push_back(
                {letterOf(row->second), rule, "rule-" + std::to_string(row->second % hues), 0});
        return row->second;
    };
    for (const std::string& rule : m_model.options.ruleOrder)
        rowOf(rule);
    for (const auto& items : groups) {
        Group group;
        group.fused = false;
        for (uint32_t i : items) {
            const Item& item = m_model.items[i];
            if (item.before != none)
                group.members.push_back(item.name);
            if (item.after == none)
                continue;
            group.made.push_back(item.name);
            const GraphNodeReport& node = m_after.nodes[item.after];
            if (group.open.empty())
                group.open = node.inside;
            const bool fused = node.fused || !node.inside.empty();
            if (!node.rule.empty() && (group.rule.empty() || (fused && !group.fused))) {
                group.rule = node.rule;
                group.file = node.file;
                group.line = node.line;
                group.fused = fused;
            }
        }
        LegendRow& legend = m_model.legend[rowOf(group.rule)];
        group.badge = legend.letter + std::to_string(++legend.count);
        group.token = legend.token;
        m_model.groups.push_back(std::move(group));
    }
    std::erase_if(m_model.legend, [](const LegendRow& row) { return row.count == 0; });
}

void Preparation::collect(const GraphReport& graph, uint8_t side,
                          const std::vector<uint32_t>& itemOf, std::vector<RawLink>& out) const {
    std::vector<uint32_t> source(graph.values.size(), none);
    for (uint32_t n = 0; n < graph.nodes.size(); ++n)
        for (uint32_t value : graph.nodes[n].outputs)
            if (value != omitted)
                source[value] = itemOf[n];
    for (uint32_t value : graph.inputs)
        source[value] = m_inputItem.at(graph.values[value].name);
    auto join = [&](uint32_t value, uint32_t to) {
        if (value != omitted && source[value] != none && source[value] != to)
            out.push_back({source[value], to, side, &graph.values[value]});
    };
    for (uint32_t n = 0; n < graph.nodes.size(); ++n)
        for (uint32_t value : graph.nodes[n].inputs)
            join(value, itemOf[n]);
    for (uint32_t value : graph.outputs)
        join(value, m_outputItem.at(graph.values[value].name));
}

void Preparation::makeLinks() {
    std::vector<RawLink> raw;
    raw.reserve(2 * (m_before.nodes.size() + m_after.nodes.size()));
    collect(m_before, Before, m_itemOfBefore, raw);
    collect(m_after, After, m_itemOfAfter, raw);
    std::sort(raw.begin(), raw.end(), [](const RawLink& a, const RawLink& b) {
        return std::tie(a.from, a.to, a.side, a.value->name) <
               std::tie(b.from, b.to, b.side, b.value->name);
    });
    for (size_t i = 0; i < raw.size();) {
        Link link{raw[i].from, raw[i].to, 0, 0, -1, raw[i].value->type, raw[i].value->name};
        for (uint8_t side : {Before, After}) {
            uint32_t values = 0;
            double bytes = -1;
            const app::GraphValueReport* last = nullptr;
            for (; i < raw.size() && raw[i].from == link.from && raw[i].to == link.to &&
                   raw[i].side == side;
                 ++i) {
                if (raw[i].value == last)
                    continue;
                last = raw[i].value;
                link.sides |= side;
                if (link.stored.empty())
                    link.stored = storedAt(link.to, last->name);
                ++values;
                if (last->bytes >= 0)
                    bytes = std::max(bytes, 0.0) + static_cast<double>(last->bytes);
            }
            link.values = std::max(link.values, values);
            link.bytes = std::max(link.bytes, bytes);
        }
        m_model.links.push_back(std::move(link));
    }
}

} // namespace

void prepare(Model& model) {
    Preparation(model).run();
}

} // namespace fuselage::scene
