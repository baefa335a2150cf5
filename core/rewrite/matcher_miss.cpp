// SPDX-License-Identifier: Apache-2.0
// How far a search came: the nearest miss is kept. To tell what alone is wrong, one test that fails
// is passed over, and so is one node that the pattern has no place for; what fits besides then
// counts as well.
#include "core/graph/text.h"
#include "core/rewrite/matcher_internal.h"

#include <algorithm>

namespace fuselage {

/// The value is where a step is tried that may be left out.
bool Search::isOptionalAt(ValueId value) const {
    return m_optional.value.valid() && m_optional.value == value &&
           m_optional.taken == m_nodes.size();
}

bool Search::miss(const char* code, const Term* term, NodeId node, ValueId value,
                  FunctionRef<std::pair<std::string, std::string>()> explain) {
    m_noted = false;
    if (!m_isExplaining || m_quiet > 0)
        return false;
    if (m_passedOver)
        return notePassedOver(false);
    auto step = static_cast<uint32_t>(m_nodes.size());
    // What a step that may be left out wants is no answer where another step fails there too.
    const bool isOptional = isOptionalAt(value);
    const bool replaces = m_nearestIsOptional && !isOptional && m_nearest.step == step;
    if ((m_hasMiss && m_nearest.step >= step && !replaces) || (step < m_leastStep && !m_isTelling))
        return false;
    m_hasMiss = true;
    m_nearestIsOptional = isOptional;
    auto [found, expected] = explain();
    std::string place = node.valid()    ? m_graph.node(node).name
                        : value.valid() ? m_graph.value(value).name
                                        : m_graph.node(m_anchor).name;
    const std::string who = node.valid() ? nodeText(node) : "`" + place + "`";
    std::string message = who + ": found " + found + ", the rule wants " + expected;
    if (term && !term->text.empty())
        message += " (`" + term->text + "`)";
    m_nearestNodes = m_nodes;
    m_nearest = {m_rule.name,
                 m_graph.node(m_anchor).name,
                 std::move(place),
                 step,
                 std::max(m_prepared.steps, step + 1),
                 {code, std::move(message), {}, {{"found", found}, {"expected", expected}}},
                 {},
                 term ? term->span : Span()};
    if (term && term->kind == Term::Kind::Node && term->ops.size() == 1)
        m_nearest.reason.facts.push_back({"operator", nameOf(term->ops.front())});
    m_noted = true;
    suggestFor(code, term, node, value);
    return false;
}

bool Search::failTest(NodeId node, FunctionRef<void()> tell) {
    if (!m_isExplaining || m_quiet > 0)
        return false;
    if (m_inInstance > 0) {
        tell();
        return false;
    }
    if (m_passedOver) {
        const bool isSame = node.valid() && m_passedOver->node == node;
        return isSame || notePassedOver(false);
    }
    const bool hadMiss = std::exchange(m_hasMiss, false), wasOptional = m_nearestIsOptional;
    NearMiss nearest = std::move(m_nearest);
    std::vector<NodeId> nodes = std::move(m_nearestNodes);
    m_isTelling = true;
    tell(); // with nothing to compare with, it becomes the nearest
    m_isTelling = false;
    m_passedOver = PassedOver{m_nearest, node, {}, nullptr};
    const bool isNearer = nearest.step < m_nearest.step ||
                          (nearest.step == m_nearest.step && wasOptional && !m_nearestIsOptional);
    if (hadMiss && !isNearer) {
        m_nearest = std::move(nearest);
        m_nearestNodes = std::move(nodes);
        m_nearestIsOptional = wasOptional;
    }
    m_noted = false;
    m_trail.push_back({Change::Kind::PassedOver});
    return true;
}

/// How much fits besides the test that was passed over. Always false.
bool Search::notePassedOver(bool isAll) {
    const NodeId failing = m_passedOver->node;
    const bool isTaken = std::find(m_nodes.begin(), m_nodes.end(), failing) != m_nodes.end();
    const auto step = static_cast<uint32_t>(m_nodes.size() - (isTaken ? 1 : 0));
    const bool isOver = m_passedOver->source.valid();
    // With one node less a name stands for one value; a condition is another cause.
    const bool isCause = !isOver || m_nearest.reason.code == code::otherValue;
    const bool isNearer = step > m_nearest.step ||
                          (step == m_nearest.step && isCause && isAll && !m_nearest.isAllButOne);
    if ((m_hasMiss && !isNearer) || (step < m_leastStep && isOver))
        return false;
    m_hasMiss = true;
    m_nearestIsOptional = false;
    m_nearest = isOver ? missBetween(*m_passedOver) : m_passedOver->miss;
    m_nearest.step = step;
    m_nearest.steps = std::max(m_prepared.steps, step + 1);
    m_nearest.isAllButOne = isAll;
    m_nearestNodes = m_nodes;
    std::erase(m_nearestNodes, failing);
    return false;
}

bool Search::refuse(Reason reason, std::optional<RuleEdit> edit) {
    if (m_passedOver && m_quiet == 0)
        return notePassedOver(false);
    if (m_quiet == 0 && m_result.refused.size() < m_firstRefused + m_options.matchesAtOnce)
        m_result.refused.push_back({currentMatch(), std::move(reason), std::move(edit)});
    return false;
}

/// Whether the search may go on behind the node, from one of its operands, as if the node were not
/// there: for a near miss, and for one node alone.
bool Search::stepOver(NodeId node, ValueId source, const Term* wanted) {
    if (!m_isExplaining || m_quiet > 0 || m_inInstance > 0 || m_nodes.empty() ||
        m_used[node.index()] != 0)
        return false;
    if (m_passedOver)
        return m_passedOver->node == node && m_passedOver->source == source;
    m_passedOver = PassedOver{{}, node, source, wanted};
    m_trail.push_back({Change::Kind::PassedOver});
    return true;
}

/// The value is another one than that which is wanted, and one node makes the one of the other.
bool Search::passesBetween(ValueId value, ValueId wanted) {
    const auto makes = [&](ValueId from, ValueId to) {
        const NodeId node = m_facts.makerOf(to);
        if (!from.valid() || !node.valid())
            return false;
        const std::vector<ValueId>& inputs = m_graph.node(node).inputs;
        return std::find(inputs.begin(), inputs.end(), from) != inputs.end() &&
               stepOver(node, from, nullptr);
    };
    return m_isExplaining && (makes(wanted, value) || makes(value, wanted));
}

/// Tries `match` from what the node that makes the value reads; `wanted` did not fit at it.
bool Search::matchBehind(ValueId value, TermId wanted, FunctionRef<bool(ValueId)> match) {
    constexpr size_t mostOperands = 3;
    const NodeId node = m_facts.makerOf(value);
    if (!node.valid())
        return false;
    const std::vector<ValueId>& inputs = m_graph.node(node).inputs;
    for (size_t i = 0; i < inputs.size() && i < mostOperands; ++i) {
        if (!m_facts.makerOf(inputs[i]).valid())
            continue;
        Mark before = mark();
        if (stepOver(node, inputs[i], &m_rule.term(wanted)) && match(inputs[i]))
            return true;
        undo(before);
    }
    return false;
}

/// What is to be said of a node that was stepped over.
NearMiss Search::missBetween(const PassedOver& over) {
    const Node& node = m_graph.node(over.node);
    const auto reads = [&](NodeId reader) {
        const std::vector<ValueId>& inputs = m_graph.node(reader).inputs;
        return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
            return input.valid() && m_facts.makerOf(input) == over.node;
        });
    };
    const auto reader = std::find_if(m_nodes.begin(), m_nodes.end(), reads);
    const NodeId maker = m_facts.makerOf(over.source);
    const std::string above =
        maker.valid() ? nodeText(maker) : "`" + m_graph.value(over.source).name + "`";
    const std::string below = reader == m_nodes.end() ? "what reads it" : nodeText(*reader);
    const std::string op = opText(node);
    const Term* step = over.wanted && over.wanted->kind == Term::Kind::Optional
                           ? &m_rule.term(over.wanted->step)
                           : nullptr;
    NearMiss out{m_rule.name,
                 m_graph.node(m_anchor).name,
                 node.name,
                 0,
                 0,
                 {code::between,
                  nodeText(over.node) + " (" + op + ") stands between " + above + " and " + below +
                      "; the rule has no place for it",
                  {},
                  {{"found", op}, {"expected", "nothing between " + above + " and " + below}}},
                 {},
                 step          ? step->span
                 : over.wanted ? over.wanted->span
                               : Span()};
    const std::string head = step ? headOf(*step) : std::string();
    if (!head.empty()) {
        out.reason.flip = "let it stand there too: `(" + head + " | " + op + ")`";
        out.edit = RuleEdit{RuleEdit::Kind::Alternative, step->span, head, op};
    }
    return out;
}

/// A node of the model by its name, a fused one by those that it was made of.
std::string Search::nodeText(NodeId id) const {
    const Node& node = m_graph.node(id);
    if (node.op != Op::Fused)
        return "`" + node.name + "`";
    std::string out;
    for (const std::string& source : sourcesOf(m_graph, {id}))
        out += (out.empty() ? "`" : ", `") + source + "`";
    return out + ", fused as " + opText(node);
}

} // namespace fuselage
