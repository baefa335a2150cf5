// SPDX-License-Identifier: Apache-2.0
// What stands in each box and beside it, and so how large it is.
#include "app/report/format.h"
#include "app/report/quantised.h"
#include "app/report/scene/model_internal.h"
#include "app/report/scene/text_size.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

namespace fuselage::scene {

namespace {

using app::GraphNodeReport;
using app::GraphReport;

constexpr size_t longestTitle = 26;
constexpr size_t longestFused = 38; ///< title of a fused box
constexpr size_t longestLine = 30;
constexpr size_t longestStub = 14;
constexpr size_t linesOfOps = 3;
constexpr size_t constantsShown = 2;
constexpr size_t incomingShown = 3;
constexpr size_t attributesShown = 6;

std::string lastPart(const std::string& name) {
    size_t end = name.find_last_not_of('/');
    if (end == std::string::npos)
        return name;
    size_t slash = name.rfind('/', end);
    return name.substr(slash == std::string::npos ? 0 : slash + 1);
}

/// Of a product of a value and its own sigmoid: what people call both together.
const char* swishOf(const GraphNodeReport& product, const GraphNodeReport& gate) {
    const bool hard = gate.op == "HardSigmoid";
    if (product.op != "Mul" || (!hard && gate.op != "Sigmoid") || product.inputs.size() != 2 ||
        gate.inputs.empty() || gate.outputs.empty())
        return nullptr;
    for (size_t slot : {0U, 1U})
        if (product.inputs[slot] == gate.outputs[0] && product.inputs[1 - slot] == gate.inputs[0])
            return hard ? "HardSwish" : "Swish";
    return nullptr;
}

/// Operators in words that people use, in order.
std::vector<std::string> spokenOps(const std::vector<const GraphNodeReport*>& nodes) {
    std::vector<std::string> out;
    std::vector<bool> said(nodes.size(), false);
    std::vector<std::string> names;
    for (const GraphNodeReport* node : nodes)
        names.push_back(node->op);
    for (size_t product = 0; product < nodes.size(); ++product)
        for (size_t gate = 0; gate < nodes.size(); ++gate)
            if (const char* name = swishOf(*nodes[product], *nodes[gate])) {
                names[product] = name;
                said[gate] = true;
            }
    for (size_t i = 0; i < nodes.size(); ++i)
        if (!said[i])
            out.push_back(names[i]);
    return out;
}

class Labels {
public:
    Labels(const Model& model, const Projection& projection)
        : m_model(model), m_projection(projection), m_out(model.tree.size()),
          m_replaced(model.groups.size()) {
        std::vector<std::vector<const GraphNodeReport*>> members(model.groups.size());
        for (const Item& item : model.items)
            if (item.group != none && item.before != none)
                members[item.group].push_back(&model.input.before.nodes[item.before]);
        for (size_t group = 0; group < members.size(); ++group)
            m_replaced[group] = spokenOps(members[group]);
    }

    std::vector<Label> run() {
        for (uint32_t id = 1; id < m_model.tree.size(); ++id)
            if (m_model.tree[id].shown && m_model.isLeafLike(id))
                m_out[id] = m_model.tree[id].isContainer() ? ofContainer(id)
                                                           : ofItem(m_model.tree[id].item);
        addStubs();
        addStored();
        for (uint32_t id = 1; id < m_model.tree.size(); ++id)
            measure(m_out[id]);
        return std::move(m_out);
    }

private:
    Label ofContainer(uint32_t id) const;
    Label ofItem(uint32_t item) const;
    void describeNode(const Item& item, Label& label) const;
    static void addDetails(const GraphReport& graph, const GraphNodeReport& node, Label& label);
    void describeFused(const Item& item, Label& label) const;
    std::string nameOf(uint32_t id) const;
    void addStubs();
    void addStored();
    void measure(Label& label) const;

    const Model& m_model;
    const Projection& m_projection;
    std::vector<Label> m_out;
    std::vector<std::vector<std::string>> m_replaced; ///< operators before, of each group
};

/// "Conv · BatchNormalization · Relu" on a few lines; equal neighbours are counted.
std::vector<std::string> wrapped(const std::vector<std::string>& ops) {
    std::vector<std::string> lines(1);
    for (size_t i = 0; i < ops.size();) {
        size_t same = i;
        while (same < ops.size() && ops[same] == ops[i])
            ++same;
        std::string word = ops[i] + (same - i > 1 ? " ×" + std::to_string(same - i) : "");
        if (!lines.back().empty() && lines.back().size() + word.size() > longestLine) {
            if (lines.size() == linesOfOps) {
                lines.back() += " …";
                return lines;
            }
            lines.emplace_back();
        }
        lines.back() += (lines.back().empty() ? "" : " · ") + word;
        i = same;
    }
    return lines;
}

/// The operators as a person lists them, equal neighbours once: as many as fit.
std::string joined(const std::vector<std::string>& ops) {
    std::string out;
    size_t left = ops.size();
    for (size_t i = 0; i < ops.size(); ++i) {
        --left;
        if (i > 0 && ops[i] == ops[i - 1])
            continue;
        const std::string word = (out.empty() ? "" : " + ") + ops[i];
        const size_t room = left > 0 ? longestFused - 5 : longestFused; // for " + 12"
        if (!out.empty() && out.size() + word.size() > room)
            return out + " + " + std::to_string(left + 1);
        out += word;
    }
    return out;
}

Label Labels::ofContainer(uint32_t id) const {
    const TreeNode& node = m_model.tree[id];
    Label label;
    label.title = elided(node.label, longestTitle);
    const bool oneSide = m_model.input.after.values.empty(); // there is no graph after
    label.lines.push_back(oneSide || node.nodes[0] == node.nodes[1]
                              ? std::to_string(node.nodes[0]) + " nodes"
                              : std::to_string(node.nodes[0]) + " → " +
                                    std::to_string(node.nodes[1]) + " nodes");
    if (node.instance > 0) {
        auto first = std::find_if(m_model.tree.begin(), m_model.tree.end(),
                                  [&](const TreeNode& t) { return t.block == node.block; });
        label.lines.push_back("like " + elided(first->label, longestTitle));
    }
    std::map<std::string, uint32_t> rules; // letter, how often
    std::vector<bool> counted(m_model.groups.size(), false);
    for (uint32_t at = node.firstLeaf; at < node.lastLeaf; ++at) {
        uint32_t group = m_model.items[m_model.tree[m_model.leaves[at]].item].group;
        if (group == none || counted[group])
            continue;
        counted[group] = true;
        const std::string& badge = m_model.groups[group].badge;
        ++rules[badge.substr(0, badge.find_first_of("0123456789"))];
    }
    for (const auto& [letter, count] : rules) {
        auto row = std::find_if(m_model.legend.begin(), m_model.legend.end(),
                                [&](const LegendRow& r) { return r.letter == letter; });
        label.badges.push_back(
            {count == 1 ? letter : letter + "×" + std::to_string(count), row->token});
    }
    return label;
}

/// Attributes and shapes of weights, one a line.
void Labels::addDetails(const GraphReport& graph, const GraphNodeReport& node, Label& label) {
    for (size_t i = 0; i < node.attributes.size() && i < attributesShown; ++i)
        label.lines.push_back(
            elided(node.attributes[i].first + " = " + node.attributes[i].second, longestLine));
    if (node.attributes.size() > attributesShown)
        label.lines.push_back("… " + std::to_string(node.attributes.size() - attributesShown) +
                              " more");
    for (uint32_t value : node.inputs)
        if (value != GraphNodeReport::omitted && graph.values[value].constant &&
            graph.values[value].literal.empty())
            label.lines.push_back(elided(lastPart(graph.values[value].name) + " " +
                                             shortType(graph.values[value].type),
                                         longestLine));
}

void Labels::describeNode(const Item& item, Label& label) const {
    const GraphReport& graph = item.before != none ? m_model.input.before : m_model.input.after;
    const GraphNodeReport& node = graph.nodes[item.before != none ? item.before : item.after];
    label.title = elided(node.op, longestTitle);
    if (item.group != none && item.sides == Before)
        return; // the group's frame says the rest
    if (!node.outputs.empty() && node.outputs[0] != GraphNodeReport::omitted)
        label.lines.push_back(elided(shortType(graph.values[node.outputs[0]].type), longestLine));
    if (m_model.options.details)
        addDetails(graph, node, label);
    if (const auto form = app::storedFormOf(graph, node)) // where pairs have boxes
        label.lines.push_back(elided(app::storedText(*form), longestLine));
    size_t constants = 0;
    for (uint32_t value : node.inputs) {
        if (value == GraphNodeReport::omitted || !graph.values[value].constant)
            continue;
        const app::GraphValueReport& constant = graph.values[value];
        if (++constants <= constantsShown)
            label.badges.push_back(
                {elided(constant.literal.empty() ? shortType(constant.type) : constant.literal, 16),
                 "constant"});
    }
    if (constants > constantsShown)
        label.badges.back().text += " +" + std::to_string(constants - constantsShown);
}

/// The operators that it replaced, the type of its result, its figures.
void Labels::describeFused(const Item& item, Label& label) const {
    const GraphNodeReport& node = m_model.input.after.nodes[item.after];
    const Group& group = m_model.groups[item.group];
    const std::vector<std::string>& ops = m_replaced[item.group];
    label.title = ops.empty() ? elided(node.op, longestTitle) : joined(ops);
    label.badges.push_back({group.badge, group.token});
    if (!ops.empty())
        label.lines.push_back(elided(node.op, longestLine));
    if (!label.title.empty() && std::isdigit(static_cast<unsigned char>(label.title.back())))
        for (std::string& line : wrapped(ops)) // the title had no room for all
            label.lines.push_back(std::move(line));
    if (!node.outputs.empty() && node.outputs[0] != GraphNodeReport::omitted)
        label.lines.push_back(
            elided(shortType(m_model.input.after.values[node.outputs[0]].type), longestLine));
    auto figures = m_model.input.figures.after.find(item.name);
    if (figures != m_model.input.figures.after.end() && figures->second.bytes >= 0)
        label.lines.push_back(app::bytesText(static_cast<int64_t>(figures->second.bytes)) + ", " +
                              app::secondsText(figures->second.seconds));
}

Label Labels::ofItem(uint32_t index) const {
    const Item& item = m_model.items[index];
    Label label;
    if (item.kind == Box::Kind::Input || item.kind == Box::Kind::Output) {
        const GraphReport& graph = item.before != none ? m_model.input.before : m_model.input.after;
        const auto& value = graph.values[item.before != none ? item.before : item.after];
        label.title = elided(item.name, longestTitle);
        label.lines.push_back(elided(shortType(value.type), longestLine));
    } else if (item.kind == Box::Kind::Fused && item.group != none && item.after != none) {
        describeFused(item, label);
    } else {
        describeNode(item, label);
    }
    return label;
}

std::string Labels::nameOf(uint32_t id) const {
    const TreeNode& node = m_model.tree[id];
    if (node.isContainer())
        return node.label;
    return lastPart(m_model.items[node.item].name);
}

void Labels::addStubs() {
    for (uint32_t e = 0; e < m_projection.edges.size(); ++e) {
        const DrawnEdge& edge = m_projection.edges[e];
        if (!edge.tunnel)
            continue;
        auto& outgoing = m_out[edge.from].stubs;
        if (outgoing.empty() || !outgoing.front().outgoing)
            outgoing.insert(outgoing.begin(),
                            {"→ " + elided(nameOf(edge.to), longestStub), true, {}, {}, 0});
        StubText& readers = outgoing.front();
        readers.edges.push_back(e);
        uint8_t sides = 0;
        for (uint32_t link : edge.links)
            sides |= m_model.links[link].sides;
        readers.count[0] += sides & Before ? 1 : 0;
        readers.count[1] += sides & After ? 1 : 0;
        // What reads before and what replaced it after are one reader.
        if (size_t count = std::max(readers.count[0], readers.count[1]); count > 1)
            readers.label = "→ " + std::to_string(count) + " readers";
        auto& incoming = m_out[edge.to].stubs;
        auto count = static_cast<size_t>(std::count_if(
            incoming.begin(), incoming.end(), [](const StubText& stub) { return !stub.outgoing; }));
        if (count < incomingShown) {
            incoming.push_back({"← " + elided(nameOf(edge.from), longestStub), false, {e}, {}, 0});
            continue;
        }
        incoming.back().edges.push_back(e);
        incoming.back().label = "← " + std::to_string(incoming.back().edges.size()) + " more";
    }
}

/// Badges of edges stand beside each other above the box.
void Labels::addStored() {
    for (const DrawnEdge& edge : m_projection.edges)
        if (const std::string text = storedOn(m_model, edge); !text.empty() && !edge.tunnel)
            m_out[edge.to].storedWidth += badgeWidth(text) + 4;
}

void Labels::measure(Label& label) const {
    if (label.title.empty() && label.lines.empty())
        return;
    double badges = 0;
    for (const Badge& badge : label.badges)
        badges += badgeWidth(badge.text) + 4;
    double width = textWidth(label.title, titleSize * 1.1);
    bool beside = badgeBeside(label.badges);
    if (beside)
        width += badges + 6;
    else
        width = std::max(width, badges - 4);
    for (const std::string& line : label.lines)
        width = std::max(width, textWidth(line, lineSize));
    label.width = std::max({72.0, std::round(width + 20), std::round(label.storedWidth)});
    label.height = 12 + titleHeight + lineHeight * static_cast<double>(label.lines.size()) +
                   (beside || label.badges.empty() ? 0 : 19);
    double rows[2] = {0, 0};
    for (StubText& stub : label.stubs) {
        stub.width = std::round(textWidth(stub.label, lineSize) + 12);
        label.stubRoom = std::max(label.stubRoom, stub.width + 8);
        rows[stub.outgoing ? 1 : 0] += 17;
    }
    label.height = std::max({label.height, rows[0], rows[1]});
}

} // namespace

std::string storedOn(const Model& model, const DrawnEdge& edge) {
    const std::string& first = model.links[edge.links.front()].stored;
    for (uint32_t link : edge.links)
        if (model.links[link].stored != first)
            return {};
    return first;
}

std::vector<Label> makeLabels(const Model& model, const Projection& projection) {
    return Labels(model, projection).run();
}

} // namespace fuselage::scene
