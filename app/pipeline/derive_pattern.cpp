// SPDX-License-Identifier: Apache-2.0
// The least general pattern of several sites: all are walked together from their last nodes to
// their operands. Where all agree the pattern says so, where they differ it says how.
#include "app/pipeline/derive_internal.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

namespace fuselage::app {

namespace {

constexpr size_t opsInName = 4;
constexpr size_t mostValues = 6; ///< of an attribute that differs
constexpr int lookDepth = 4;     ///< to decide which operand of a commutative operator is which

/// One value or node for each of some sites.
template <typename Id> struct Tuple {
    std::vector<size_t> sites;
    std::vector<Id> ids; ///< parallel; invalid: an omitted operand

    friend auto operator<=>(const Tuple&, const Tuple&) = default;

    size_t size() const { return sites.size(); }

    void add(size_t site, Id id) {
        sites.push_back(site);
        ids.push_back(id);
    }
};

using Values = Tuple<ValueId>;
using Nodes = Tuple<NodeId>;

class Generaliser {
public:
    Generaliser(const Graph& graph, const std::vector<SiteNodes>& sites)
        : m_graph(graph), m_sites(sites), m_inside(sites.size()) {
        for (size_t i = 0; i < sites.size(); ++i)
            for (NodeId id : sites[i])
                m_inside[i].insert(id.index());
    }

    Result<SharedPattern> run() {
        std::vector<std::vector<NodeId>> ends(m_sites.size());
        for (size_t i = 0; i < m_sites.size(); ++i)
            for (NodeId id : m_sites[i])
                if (isEnd(i, id))
                    ends[i].push_back(id);
        for (size_t i = 1; i < ends.size(); ++i)
            if (ends[i].size() != ends[0].size())
                return failure("derive.differ",
                               fmt::format("one site ends in {} nodes, another one in {}",
                                           ends[0].size(), ends[i].size()),
                               "", "give sites of one form, or derive one rule for each");
        for (size_t end = 0; end < ends[0].size(); ++end) {
            Nodes nodes;
            for (size_t i = 0; i < ends.size(); ++i)
                nodes.add(i, ends[i][end]);
            addStatement(nodes);
        }
        if (m_problem)
            return failure(*m_problem);
        SharedPattern out{m_statements, m_escapes, {}};
        const SiteNodes& first = m_sites[0];
        for (size_t i = 0; i < std::min(first.size(), opsInName); ++i)
            out.operators += nameOf(m_graph.node(first[i]).op);
        if (first.size() > opsInName)
            out.operators += std::to_string(first.size());
        return out;
    }

private:
    bool isInside(size_t site, NodeId id) const {
        return id.valid() && m_inside[site].contains(id.index());
    }

    NodeId makerOf(size_t site, ValueId value) const {
        NodeId maker = value.valid() ? m_graph.producer(value) : NodeId();
        return isInside(site, maker) ? maker : NodeId();
    }

    bool isReadInside(size_t site, ValueId value) const {
        const auto& uses = m_graph.value(value).uses;
        return std::any_of(uses.begin(), uses.end(),
                           [&](const Use& use) { return isInside(site, use.node); });
    }

    bool isReadOutside(size_t site, ValueId value) const {
        const auto& uses = m_graph.value(value).uses;
        return m_graph.isGraphOutput(value) ||
               std::any_of(uses.begin(), uses.end(),
                           [&](const Use& use) { return !isInside(site, use.node); });
    }

    /// Nothing in the site reads what it makes.
    bool isEnd(size_t site, NodeId id) const {
        const auto& outputs = m_graph.node(id).outputs;
        return std::none_of(outputs.begin(), outputs.end(), [&](ValueId output) {
            return output.valid() && isReadInside(site, output);
        });
    }

    /// Written where its only reader stands.
    bool isInlined(size_t site, NodeId id) const {
        const auto& outputs = m_graph.node(id).outputs;
        bool one = std::count_if(outputs.begin(), outputs.end(),
                                 [](ValueId output) { return output.valid(); }) == 1;
        if (!one || !outputs[0].valid())
            return false;
        return m_graph.value(outputs[0]).uses.size() == 1 && isReadInside(site, outputs[0]) &&
               !m_graph.isGraphOutput(outputs[0]);
    }

    bool allInlined(const Nodes& nodes) const {
        for (size_t i = 0; i < nodes.size(); ++i)
            if (!isInlined(nodes.sites[i], nodes.ids[i]))
                return false;
        return true;
    }

    Op opOf(NodeId id) const { return m_graph.node(id).op; }

    bool sameOperator(const Nodes& nodes) const {
        return std::all_of(nodes.ids.begin(), nodes.ids.end(),
                           [&](NodeId id) { return opOf(id) == opOf(nodes.ids[0]); });
    }

    std::string fail(const std::string& message) {
        if (!m_problem)
            m_problem = failure("derive.differ", message, "",
                                "give sites of one form, or derive one rule for each")
                            .error;
        return "_";
    }

    std::string failAt(const Nodes& nodes) {
        std::string text;
        for (NodeId id : nodes.ids)
            if (text.find("`" + m_graph.node(id).name + "`") == std::string::npos)
                text += fmt::format("{}`{}` ({})", text.empty() ? "" : " and ",
                                    m_graph.node(id).name, nameOf(opOf(id)));
        return fail(text + " have nothing in common");
    }

    // Statements

    /// "y = Conv(x, w: const) -> Relu;"; several names for several outputs.
    void addStatement(const Nodes& nodes) {
        std::vector<std::pair<Values, bool>> made; // and whether the site reads it
        size_t outputs = m_graph.node(nodes.ids[0]).outputs.size();
        for (size_t slot = 0; slot < outputs; ++slot) {
            Values values;
            bool read = false, escapes = false;
            for (size_t i = 0; i < nodes.size(); ++i) {
                const auto& of = m_graph.node(nodes.ids[i]).outputs;
                ValueId value = slot < of.size() ? of[slot] : ValueId();
                values.add(nodes.sites[i], value);
                if (!value.valid())
                    continue;
                bool inside = isReadInside(nodes.sites[i], value);
                read = read || inside;
                escapes = escapes || (inside && isReadOutside(nodes.sites[i], value));
            }
            if (!values.ids[0].valid())
                continue;
            std::string wish = read ? std::string(nameOf(opOf(nodes.ids[0]))) : "y";
            std::string name = freshName(wish, m_taken);
            m_names[values] = name;
            if (escapes)
                m_escapes += "  escape " + name + ": export;\n";
            made.emplace_back(std::move(values), read);
        }
        std::string names;
        for (const auto& [values, read] : made)
            names += (names.empty() ? "" : ", ") + m_names[values];
        std::string text = nodeTerm(nodes);
        m_statements += "    " + names + " = " + text + ";\n";
    }

    // Values

    /// What stands where an operand is read.
    std::string valueTerm(const Values& values, Op reader, size_t slot) {
        if (auto known = m_names.find(values); known != m_names.end())
            return known->second;
        Nodes inside;
        for (size_t i = 0; i < values.size(); ++i)
            if (NodeId maker = makerOf(values.sites[i], values.ids[i]); maker.valid())
                inside.add(values.sites[i], maker);
        if (inside.size() == 0)
            return leaf(values, reader, slot);
        if (inside.size() < values.size())
            return optionalTerm(values, inside, reader, slot);
        if (!sameOperator(inside))
            return mixedTerm(values, inside, reader, slot);
        if (allInlined(inside))
            return nodeTerm(inside);
        addStatement(inside);
        auto known = m_names.find(values);
        return known != m_names.end() ? known->second : failAt(inside);
    }

    /// "x -> BatchNormalization?": only some sites have these nodes, the others what they read.
    std::string optionalTerm(const Values& values, const Nodes& optional, Op reader, size_t slot) {
        Values source = values;
        if (!sameOperator(optional) || !allInlined(optional))
            return failAt(optional);
        for (size_t i = 0; i < optional.size(); ++i) {
            auto at = std::find(source.sites.begin(), source.sites.end(), optional.sites[i]);
            ValueId before = mainOperand(optional.sites[i], optional.ids[i]);
            if (!before.valid())
                return failAt(optional);
            source.ids[static_cast<size_t>(at - source.sites.begin())] = before;
        }
        std::string before = valueTerm(source, reader, slot);
        return before + " -> " + stepText(optional) + "?";
    }

    /// Operators differ: some have a node more than the others, or they are alternatives.
    std::string mixedTerm(const Values& values, const Nodes& nodes, Op reader, size_t slot) {
        std::map<Op, Nodes> byOp;
        for (size_t i = 0; i < nodes.size(); ++i)
            byOp[opOf(nodes.ids[i])].add(nodes.sites[i], nodes.ids[i]);
        for (const auto& [op, group] : byOp) {
            // A group whose operands are what the others are: an optional step.
            bool before = byOp.size() == 2 && allInlined(group);
            for (size_t i = 0; before && i < group.size(); ++i) {
                NodeId maker = makerOf(group.sites[i], mainOperand(group.sites[i], group.ids[i]));
                before = maker.valid() && opOf(maker) != op && byOp.contains(opOf(maker));
            }
            if (before)
                return optionalTerm(values, group, reader, slot);
        }
        return alternatives(nodes, byOp);
    }

    /// "Add(x, b) -> Relu?" where some sites go on behind the node in which the others end; empty:
    /// they do not.
    std::string optionalEnd(const Nodes& nodes, const std::map<Op, Nodes>& byOp) {
        for (const auto& [op, longer] : byOp) {
            Nodes before = nodes;
            bool fits = byOp.size() == 2;
            for (size_t i = 0; fits && i < longer.size(); ++i) {
                const NodeId maker =
                    makerOf(longer.sites[i], mainOperand(longer.sites[i], longer.ids[i]));
                fits = maker.valid() && opOf(maker) != op && byOp.contains(opOf(maker)) &&
                       isInlined(longer.sites[i], maker) &&
                       m_graph.node(longer.ids[i]).outputs.size() == 1;
                auto at = std::find(before.sites.begin(), before.sites.end(), longer.sites[i]);
                before.ids[static_cast<size_t>(at - before.sites.begin())] = maker;
            }
            if (!fits)
                continue;
            const std::string text = nodeTerm(before);
            return text + " -> " + stepText(longer) + "?";
        }
        return {};
    }

    /// "x -> (Relu | Clip(_, 0, 6))"
    std::string alternatives(const Nodes& nodes, const std::map<Op, Nodes>& byOp) {
        Values source;
        if (!allInlined(nodes) && !std::all_of(nodes.ids.begin(), nodes.ids.end(), [&](NodeId id) {
                return m_graph.node(id).outputs.size() == 1;
            }))
            return failAt(nodes);
        for (size_t i = 0; i < nodes.size(); ++i) {
            ValueId before = mainOperand(nodes.sites[i], nodes.ids[i]);
            if (!before.valid())
                return failAt(nodes);
            source.add(nodes.sites[i], before);
        }
        std::string before = valueTerm(source, opOf(nodes.ids[0]), 0);
        std::vector<std::pair<size_t, std::string>> choices; // in the order of the sites
        for (const auto& [op, group] : byOp)
            choices.emplace_back(group.sites[0], stepText(group));
        std::sort(choices.begin(), choices.end());
        std::string text;
        for (const auto& [site, choice] : choices)
            text += (text.empty() ? "" : " | ") + choice;
        return before + " -> (" + text + ")";
    }

    /// The operand that a chain goes on with: what the site makes, else the first that varies.
    ValueId mainOperand(size_t site, NodeId id) const {
        const Node& node = m_graph.node(id);
        ValueId first;
        for (size_t i = 0; i < node.explicitInputs; ++i) {
            ValueId value = node.inputs[i];
            if (makerOf(site, value).valid())
                return value;
            if (!first.valid() && value.valid() && !m_graph.isConstant(value))
                first = value;
        }
        return first;
    }

    /// A value from outside: a number, a constant or a name.
    std::string leaf(const Values& values, Op reader, size_t slot) {
        bool omitted = false, constant = true;
        std::optional<double> number;
        bool sameNumber = true;
        for (ValueId id : values.ids) {
            if (!id.valid()) {
                omitted = true;
                continue;
            }
            const TensorPtr& data = m_graph.value(id).constant;
            constant = constant && data;
            bool isNumber = data && data->elementCount() == 1 && isFloat(data->dtype()) &&
                            std::isfinite(data->at(0)) && hasTrait(reader, Elementwise);
            if (!isNumber || (number && *number != data->at(0)))
                sameNumber = false;
            if (isNumber && !number)
                number = data->at(0);
        }
        if (sameNumber && number && !omitted)
            return fmt::format("{:.7g}", *number);
        std::string name = freshName(roleOf(reader, slot, constant), m_taken);
        m_names[values] = name;
        return name + (omitted ? "?" : "") + (constant ? ": const" : "");
    }

    // Nodes

    /// "Conv(x, w: const) -> Relu": the first operand that is made inside stands before the arrow.
    std::string nodeTerm(const Nodes& nodes) {
        if (!sameOperator(nodes)) {
            std::map<Op, Nodes> byOp;
            for (size_t i = 0; i < nodes.size(); ++i)
                byOp[opOf(nodes.ids[i])].add(nodes.sites[i], nodes.ids[i]);
            if (std::string text = optionalEnd(nodes, byOp); !text.empty())
                return text;
            return alternatives(nodes, byOp);
        }
        std::vector<Values> operands = operandsOf(nodes);
        size_t chained = operands.size();
        for (size_t i = 0; i < operands.size() && chained == operands.size(); ++i)
            if (isChain(operands[i]))
                chained = i;
        std::string before;
        if (chained < operands.size())
            before = valueTerm(operands[chained], opOf(nodes.ids[0]), chained) + " -> ";
        return before + operatorText(nodes, operands, chained);
    }

    /// The step alone, reading its main operand.
    std::string stepText(const Nodes& nodes) {
        std::vector<Values> operands = operandsOf(nodes);
        size_t chained = operands.size();
        for (size_t slot = 0; slot < operands.size(); ++slot)
            for (size_t i = 0; i < nodes.size(); ++i)
                if (operands[slot].ids[i].valid() &&
                    operands[slot].ids[i] == mainOperand(nodes.sites[i], nodes.ids[i]))
                    chained = std::min(chained, slot);
        return operatorText(nodes, operands, chained);
    }

    /// Made inside by all and written there, or by some of them: those are optional steps.
    bool isChain(const Values& values) const {
        if (m_names.contains(values))
            return false;
        size_t inside = 0;
        for (size_t i = 0; i < values.size(); ++i) {
            NodeId maker = makerOf(values.sites[i], values.ids[i]);
            if (!maker.valid())
                continue;
            if (!isInlined(values.sites[i], maker))
                return false;
            ++inside;
        }
        return inside > 0;
    }

    std::string operatorText(const Nodes& nodes, const std::vector<Values>& operands,
                             size_t chained) {
        Op op = opOf(nodes.ids[0]);
        std::string text;
        bool skipped = false;
        size_t written = 0;
        for (size_t slot = 0; slot < operands.size(); ++slot) {
            bool none = std::none_of(operands[slot].ids.begin(), operands[slot].ids.end(),
                                     [](ValueId id) { return id.valid(); });
            if (none) {
                skipped = true;
                continue;
            }
            std::string one = slot == chained ? "_" : valueTerm(operands[slot], op, slot);
            if (skipped)
                one = inputNamesOf(op)[slot] + " = " + one;
            text += (written++ > 0 ? ", " : "") + one;
        }
        bool alone = chained == 0 && written == 1;
        return ruleNameOf(op) + (alone ? "" : "(" + text + ")") + testsText(nodes);
    }

    /// By position, without what all omit at the end; commutative operands side by side.
    std::vector<Values> operandsOf(const Nodes& nodes) const {
        size_t count = 0;
        for (NodeId id : nodes.ids) {
            const Node& node = m_graph.node(id);
            for (size_t i = 0; i < node.explicitInputs; ++i)
                if (node.inputs[i].valid())
                    count = std::max(count, i + 1);
        }
        std::vector<Values> out(count);
        for (size_t i = 0; i < nodes.size(); ++i) {
            const Node& node = m_graph.node(nodes.ids[i]);
            bool swapped = i > 0 && count == 2 && node.explicitInputs == 2 &&
                           hasTrait(node.op, Commutative) &&
                           isBetterSwapped(out, nodes.sites[i], node);
            for (size_t slot = 0; slot < count; ++slot) {
                size_t from = swapped ? 1 - slot : slot;
                out[slot].add(nodes.sites[i],
                              from < node.explicitInputs ? node.inputs[from] : ValueId());
            }
        }
        return out;
    }

    bool isBetterSwapped(const std::vector<Values>& first, size_t site, const Node& node) const {
        auto fit = [&](size_t slot, size_t operand) {
            return likeness(first[slot].sites[0], first[slot].ids[0], site, node.inputs[operand],
                            lookDepth);
        };
        return fit(0, 1) + fit(1, 0) > fit(0, 0) + fit(1, 1);
    }

    /// How much two operands are alike, looking a few nodes far.
    int likeness(size_t siteA, ValueId a, size_t siteB, ValueId b, int depth) const {
        if (!a.valid() || !b.valid() || depth == 0)
            return 0;
        NodeId makerA = makerOf(siteA, a), makerB = makerOf(siteB, b);
        if (makerA.valid() != makerB.valid())
            return 0;
        if (!makerA.valid())
            return m_graph.isConstant(a) == m_graph.isConstant(b) ? 1 : 0;
        const Node& nodeA = m_graph.node(makerA);
        const Node& nodeB = m_graph.node(makerB);
        if (nodeA.op != nodeB.op)
            return 0;
        int sum = 2;
        for (size_t i = 0; i < std::min(nodeA.explicitInputs, nodeB.explicitInputs); ++i)
            sum += likeness(siteA, nodeA.inputs[i], siteB, nodeB.inputs[i], depth - 1);
        return sum;
    }

    /// "[axis == 1, perm in {[0, 1], [1, 0]}]"
    std::string testsText(const Nodes& nodes) const {
        const Node& first = m_graph.node(nodes.ids[0]);
        std::string out;
        for (const auto& entry : first.attributes) {
            std::vector<std::string> values;
            bool isDefault = true, printable = true;
            for (NodeId id : nodes.ids) {
                const AttributeValue* value = nullptr;
                for (const auto& other : m_graph.node(id).attributes)
                    if (other.name == entry.name)
                        value = &other.value;
                auto text = value != nullptr ? attributeText(*value) : std::nullopt;
                printable = printable && text;
                isDefault = isDefault && value && isSchemaDefault(first.op, entry.name, *value);
                if (text && std::find(values.begin(), values.end(), *text) == values.end())
                    values.push_back(*text);
            }
            if (!printable || isDefault || values.size() > mostValues)
                continue;
            std::string list;
            for (const std::string& value : values)
                list += (list.empty() ? "" : ", ") + value;
            out += (out.empty() ? "" : ", ") + entry.name +
                   (values.size() == 1 ? " == " + list : " in {" + list + "}");
        }
        return out.empty() ? out : "[" + out + "]";
    }

    const Graph& m_graph;
    const std::vector<SiteNodes>& m_sites;
    std::vector<std::unordered_set<uint32_t>> m_inside; ///< per site
    std::map<Values, std::string> m_names;
    std::set<std::string> m_taken;
    std::string m_statements, m_escapes;
    std::optional<Error> m_problem;
};

} // namespace

Result<SharedPattern> sharedPattern(const Graph& graph, const std::vector<SiteNodes>& sites) {
    return Generaliser(graph, sites).run();
}

} // namespace fuselage::app
