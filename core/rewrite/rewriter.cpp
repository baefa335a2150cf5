// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/rewriter.h"

#include "core/graph/subgraph.h"
#include "core/graph/text.h"
#include "core/ops/op_table.h"
#include "core/rewrite/custom_body.h"
#include "core/rewrite/export_as.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace fuselage {

namespace {

Provenance provenanceOf(const Graph& graph, const Match& match) {
    const Rule& rule = *match.rule;
    return {rule.name, rule.file, rule.line, sourcesOf(graph, match.nodes),
            metadataOf(graph, match.nodes)};
}

ApplyResult applyFuse(Graph& graph, const Match& match) {
    if (match.outputs.empty())
        return NotApplied{{code::escape, "nothing reads what the match computes", {}, {}}};
    Result<Attributes> attributes = exportedAttributes(graph, match);
    if (!attributes)
        return NotApplied{{code::unknown, attributes.error().message, {}, {}}};
    Cut cut = cutOut(graph, match.nodes, match.outputs);
    if (match.rule->exportAs) {
        auto operands = exportedOperands(graph, match, cut);
        if (auto* reason = std::get_if<Reason>(&operands))
            return NotApplied{std::move(*reason), {}};
        CutOptions options;
        options.first = std::move(std::get<std::vector<ValueId>>(operands));
        if (!options.first.empty() && options.first != cut.inputs)
            cut = cutOut(graph, match.nodes, match.outputs, options);
    }
    Applied applied;
    applied.made.push_back(replaceByFused(graph, match.nodes, std::move(cut), match.rule->name,
                                          provenanceOf(graph, match)));
    if (match.rule->exportAs) {
        Node& fused = graph.edit(applied.made[0]);
        name(fused, *match.rule->exportAs->custom);
        fused.attributes = std::move(*attributes);
    }
    for (NodeId node : match.nodes)
        if (!graph.alive(node))
            applied.removed.push_back(node);
    return applied;
}

std::string nameOfNode(const Node& node) {
    return node.customOp.empty() ? nameOf(node.op) : node.customOp;
}

/// What a node has besides operator, operands and attributes, where no row tells it.
void copyCustom(const Node& from, Node& to) {
    to.customDomain = from.customDomain;
    to.customOp = from.customOp;
    to.body = from.body;
}

/// One replacement of a rewrite: a value of the graph and the draft's value for it.
struct Replacement {
    ValueId old;
    ValueId drafted;
    const Assignment* from = nullptr; ///< when it has one target
};

/// Builds the right-hand side and says whether it may stand where the match is.
class Building {
public:
    Building(const Graph& graph, const Match& match, const InferenceFunction& infer)
        : m_graph(graph), m_match(match), m_draft(graph, infer) {}

    bool run() { return build() && checkTypes() && checkOrder() && checkOutputs(); }

    NotApplied whyNot() { return {std::move(m_reason), std::move(m_edit)}; }

    /// What was built, without what nothing needs.
    Graph built() const {
        Graph out = m_draft.graph().clone();
        for (const Replacement& replacement : m_replacements)
            if (!out.isGraphOutput(replacement.drafted))
                out.addOutput(replacement.drafted);
        out.removeDead();
        return out;
    }

protected:
    bool refuse(const char* code, std::string message, std::string flip = {}) {
        m_reason = {code, std::move(message), std::move(flip), {}};
        return false;
    }

    bool build() {
        const Rule& rule = *m_match.rule;
        EvaluateContext context{m_graph,          rule,    m_match.slots, m_match.dims,
                                &m_match.regions, nullptr, &m_draft,      &m_names};
        for (const Assignment& assignment : rule.rewrite) {
            Quantity value = evaluate(context, assignment.value, assignment.targets.size());
            if (!m_draft.problem().empty())
                return refuse(code::rewriteType, m_draft.problem());
            if (value.isUnknown())
                return refuse(code::rewriteType,
                              "not known: " + value.as<Quantity::Unknown>()->why);
            if (!assign(assignment, value))
                return false;
        }
        return true;
    }

    bool assign(const Assignment& assignment, const Quantity& value) {
        if (assignment.targets.size() == 1 && !assignment.isList)
            return assignOne(assignment.targets[0], m_match.slots[assignment.targets[0]], value,
                             &assignment);
        std::optional<Quantity::List> items = value.items();
        if (assignment.isList) {
            SlotIndex target = assignment.targets[0];
            const Binding& bound = m_match.slots[target];
            if (!items || items->size() != bound.items.size())
                return refuse(code::rewriteType, "`" + m_match.rule->slots[target].name +
                                                     "[]` wants " +
                                                     std::to_string(bound.items.size()) +
                                                     " values, found " + value.text());
            for (size_t i = 0; i < items->size(); ++i)
                if (!replace(bound.items[i], (*items)[i]))
                    return false;
            m_names.slots[target] = value;
            return true;
        }
        if (!items || items->size() != assignment.targets.size())
            return refuse(code::rewriteType, std::to_string(assignment.targets.size()) +
                                                 " names want as many values, found " +
                                                 value.text());
        for (size_t i = 0; i < items->size(); ++i)
            if (!assignOne(assignment.targets[i], m_match.slots[assignment.targets[i]],
                           (*items)[i]))
                return false;
        return true;
    }

    bool assignOne(SlotIndex slot, const Binding& bound, const Quantity& value,
                   const Assignment* from = nullptr) {
        m_names.slots[slot] = value;
        return bound.kind != Binding::Kind::Value || replace(bound, value, from);
    }

    bool replace(const Binding& bound, const Quantity& value, const Assignment* from = nullptr) {
        const Type& old = m_graph.value(bound.value).type;
        ValueId drafted = m_draft.valueOf(value, old.dtype);
        if (!drafted.valid())
            return refuse(code::rewriteType,
                          "`" + m_graph.value(bound.value).name + "` cannot be " + value.text());
        m_replacements.push_back({bound.value, drafted, from});
        return true;
    }

    bool checkTypes() {
        for (const Replacement& replacement : m_replacements) {
            const Value& old = m_graph.value(replacement.old);
            const Type& made = m_draft.graph().value(replacement.drafted).type;
            const Fit fit = fitOf(old.type, made);
            if (fit == Fit::Same)
                continue;
            std::string message =
                "`" + old.name + "` is " + old.type.text() + ", the rewrite makes " + made.text();
            if (fit == Fit::ForSomeSizes)
                return refuse(code::rewriteType, message + ": one shape for some sizes only",
                              "give the dimensions numbers in the model");
            refuse(code::rewriteType, std::move(message));
            m_reason.facts = {{"found", made.text()}, {"expected", old.type.text()}};
            suggest(replacement, old.type, made);
            return false;
        }
        return true;
    }

    enum class Fit : uint8_t { Same, ForSomeSizes, Never };

    /// What is not known of a type is taken to be the same.
    static Fit fitOf(const Type& old, const Type& made) {
        if (old.dtype != DType::Undefined && made.dtype != DType::Undefined &&
            old.dtype != made.dtype)
            return Fit::Never;
        if (!old.hasRank() || !made.hasRank())
            return Fit::Same;
        if (old.rank() != made.rank())
            return Fit::Never;
        Fit fit = Fit::Same;
        for (size_t i = 0; i < made.rank(); ++i) {
            const Dim &was = (*old.shape)[i], &is = (*made.shape)[i];
            if (certainlyDifferent(was, is))
                return Fit::Never;
            if (!was.isUnknown() && !is.isUnknown() && !(was == is))
                fit = Fit::ForSomeSizes;
        }
        return fit;
    }

    /// A step behind the result that gives it the old type.
    void suggest(const Replacement& replacement, const Type& old, const Type& made) {
        if (!replacement.from || replacement.from->value.span.empty())
            return;
        std::string step;
        auto count = old.elementCount();
        if (old.dtype != made.dtype && old.dtype != DType::Undefined)
            step = " -> Cast[to = " + std::to_string(onnxNumber(old.dtype)) + "]";
        else if (count && count == made.elementCount())
            step = " -> Reshape(_, " + m_match.rule->slots[replacement.from->targets[0]].name +
                   ".shape)";
        else
            return;
        m_reason.flip = "add `" + step.substr(1) + "` behind the result";
        m_edit = RuleEdit{RuleEdit::Kind::Append, replacement.from->value.span, {}, step};
    }

    /// What the new nodes read must not itself be computed from what they replace.
    bool checkOrder() {
        std::unordered_set<NodeId> inside(m_match.nodes.begin(), m_match.nodes.end());
        std::unordered_set<ValueId> seen;
        std::vector<ValueId> work;
        for (ValueId value : m_draft.graph().values())
            if (ValueId origin = m_draft.imported(value);
                origin.valid() && !m_draft.graph().value(value).uses.empty())
                work.push_back(origin);
        while (!work.empty()) {
            ValueId value = work.back();
            work.pop_back();
            if (!seen.insert(value).second)
                continue;
            for (const Replacement& replacement : m_replacements)
                if (replacement.old == value)
                    return refuse(code::cycle,
                                  "the rewrite reads `" + m_graph.value(value).name +
                                      "`, which it replaces",
                                  "read the operands of that value");
            NodeId maker = m_graph.producer(value);
            if (maker.valid() && inside.contains(maker))
                for (ValueId input : m_graph.node(maker).inputs)
                    if (input.valid())
                        work.push_back(input);
        }
        return true;
    }

    /// An output of the graph keeps its name only when one node of its own makes it.
    bool checkOutputs() {
        for (size_t i = 0; i < m_replacements.size(); ++i) {
            ValueId old = m_replacements[i].old, drafted = m_replacements[i].drafted;
            if (!m_graph.isGraphOutput(old))
                continue;
            ValueId existing = m_draft.imported(drafted);
            bool shared = std::any_of(
                m_replacements.begin(), m_replacements.end(), [&](const Replacement& other) {
                    return &other != &m_replacements[i] && other.drafted == drafted;
                });
            bool ownNode = existing.valid() ? m_graph.producer(existing).valid() &&
                                                  !m_graph.isGraphOutput(existing)
                                            : m_draft.graph().producer(drafted).valid();
            if (!ownNode || shared)
                return refuse("graph-output", "`" + m_graph.value(old).name +
                                                  "` is an output of the graph and would be no "
                                                  "node's own result");
        }
        return true;
    }

    const Graph& m_graph;
    const Match& m_match;
    Draft m_draft;
    DraftedNames m_names;
    std::vector<Replacement> m_replacements;
    Reason m_reason;
    std::optional<RuleEdit> m_edit;
};

/// Puts what was built into the graph.
class Rewrite : public Building {
public:
    Rewrite(Graph& graph, const Match& match, const InferenceFunction& infer)
        : Building(graph, match, infer), m_target(graph) {}

    ApplyResult splice() {
        Applied applied;
        Provenance provenance = provenanceOf(m_graph, m_match);
        for (NodeId node : needed())
            copyNode(node, provenance, applied);
        std::unordered_set<NodeId> made(applied.made.begin(), applied.made.end());
        for (const auto& [old, drafted, from] : m_replacements) {
            ValueId value = inGraph(drafted);
            if (value == old)
                continue;
            keepBetterType(old, value);
            NodeId maker = m_graph.producer(value);
            if (maker.valid() && made.contains(maker)) {
                // The old value lives on as the new node's output: its name and readers stay.
                uint32_t slot = m_graph.value(value).outputSlot;
                m_target.replaceUses(value, old);
                m_target.moveOutput(old, maker, slot);
                m_map[drafted] = old;
                continue;
            }
            bool named = m_graph.isGraphOutput(old);
            m_target.replaceUses(old, value);
            if (named)
                m_target.takeName(value, old);
            applied.replaced.emplace_back(old, value);
        }
        removeMatched(applied);
        return applied;
    }

private:
    ValueId inGraph(ValueId drafted) {
        if (!drafted.valid())
            return {};
        auto [entry, isNew] = m_map.try_emplace(drafted);
        if (!isNew)
            return entry->second;
        const Value& value = m_draft.graph().value(drafted);
        ValueId origin = m_draft.imported(drafted);
        return entry->second =
                   origin.valid() ? origin : m_target.addConstant(value.name, value.constant);
    }

    void copyNode(NodeId drafted, const Provenance& provenance, Applied& applied) {
        const Graph& draft = m_draft.graph();
        const Node& node = draft.node(drafted);
        NodeSpec spec{
            node.op,   m_match.rule->name + "_" + nameOfNode(node), {}, {}, node.attributes,
            provenance};
        for (ValueId input : node.inputs)
            spec.inputs.push_back(inGraph(input));
        std::string base = m_graph.value(m_replacements[0].old).name + "_";
        for (ValueId output : node.outputs)
            spec.outputs.push_back(output.valid() ? base + draft.value(output).name : "");
        NodeId made = m_target.addNode(std::move(spec));
        copyCustom(node, m_target.edit(made));
        applied.made.push_back(made);
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (!node.outputs[i].valid())
                continue;
            ValueId value = m_graph.node(made).outputs[i];
            m_map[node.outputs[i]] = value;
            m_target.setType(value, draft.value(node.outputs[i]).type);
            m_target.setSymbolicContents(value, draft.value(node.outputs[i]).symbolicContents);
        }
    }

    /// Nodes of the draft that the replacements need, producers first.
    std::vector<NodeId> needed() const {
        const Graph& draft = m_draft.graph();
        std::unordered_set<NodeId> wanted;
        std::vector<ValueId> work;
        for (const Replacement& replacement : m_replacements)
            work.push_back(replacement.drafted);
        while (!work.empty()) {
            NodeId maker = draft.producer(work.back());
            work.pop_back();
            if (maker.valid() && wanted.insert(maker).second)
                for (ValueId input : draft.node(maker).inputs)
                    work.push_back(input);
        }
        std::vector<NodeId> out;
        for (NodeId node : draft.nodes()) // built producers first
            if (wanted.contains(node))
                out.push_back(node);
        return out;
    }

    void keepBetterType(ValueId old, ValueId made) {
        const Type& before = m_graph.value(old).type;
        const Type& after = m_graph.value(made).type;
        auto isKnown = [](const Type& type) {
            return type.hasRank() && std::none_of(type.shape->begin(), type.shape->end(),
                                                  [](const Dim& d) { return d.isUnknown(); });
        };
        if (isKnown(after) && !isKnown(before) && after.dtype != DType::Undefined)
            m_target.setType(old, after);
    }

    void removeMatched(Applied& applied) {
        for (auto it = m_match.nodes.rbegin(); it != m_match.nodes.rend(); ++it) {
            const std::vector<ValueId>& outputs = m_graph.node(*it).outputs;
            bool read = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
                return output.valid() &&
                       (!m_graph.value(output).uses.empty() || m_graph.isGraphOutput(output));
            });
            if (read)
                continue;
            m_target.removeNode(*it);
            applied.removed.push_back(*it);
        }
    }

    Graph& m_target;
    std::unordered_map<ValueId, ValueId> m_map; ///< draft -> graph
};

} // namespace

Metadata metadataOf(const Graph& graph, const std::vector<NodeId>& nodes) {
    constexpr size_t longest = 16384; // made nodes must not grow without limit
    Metadata out;
    for (NodeId id : nodes)
        for (const auto& [key, value] : graph.node(id).provenance.metadata) {
            if (value.size() > longest)
                continue;
            auto [entry, isNew] = out.try_emplace(key, value);
            std::string& text = entry->second;
            if (!isNew && text.find(value) == std::string::npos &&
                text.size() + value.size() < longest)
                text += "\n" + value;
        }
    return out;
}

ApplyResult applyMatch(Graph& graph, const Match& match, const InferenceFunction& infer) {
    if (!match.rule->isRewrite)
        return applyFuse(graph, match);
    Rewrite rewrite(graph, match, infer);
    if (!rewrite.run())
        return rewrite.whyNot();
    return rewrite.splice();
}

std::variant<Graph, NotApplied> replacementOf(const Graph& graph, const Match& match,
                                              const InferenceFunction& infer) {
    Building building(graph, match, infer);
    if (!building.run())
        return building.whyNot();
    return building.built();
}

} // namespace fuselage
