// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/custom_body.h"

#include "core/graph/bodies.h"
#include "core/rewrite/matcher.h"
#include "core/rewrite/rewriter.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

constexpr int64_t mostEmbedded = 8; ///< elements of shapes and axes that a body is made for

/// Constants whose numbers the body's shapes may depend on.
bool isParameter(const Value& value) {
    return value.constant && value.constant->rank() <= 1 &&
           value.constant->elementCount() <= mostEmbedded &&
           (value.constant->elementCount() == 1 || !isFloat(value.constant->dtype()));
}

/// The node alone, each of its operands an input. Of a constant whose numbers matter the node reads
/// a copy, and the input stays unread.
Graph aloneOf(const Graph& graph, const Node& node) {
    Graph alone(node.customOp);
    alone.opsetImports = graph.opsetImports;
    NodeSpec spec{Op::Unknown, node.name, {}, {}, node.attributes, node.provenance};
    for (ValueId operand : node.inputs) {
        const Value& value = graph.value(operand);
        ValueId input = alone.addInput(value.name, value.type);
        alone.setSymbolicContents(input, value.symbolicContents);
        spec.inputs.push_back(isParameter(value) ? alone.addConstant(value.name, value.constant)
                                                 : input);
    }
    for (ValueId output : node.outputs)
        spec.outputs.push_back(graph.value(output).name);
    NodeId copy = alone.addNode(std::move(spec));
    alone.edit(copy).customDomain = node.customDomain;
    alone.edit(copy).customOp = node.customOp;
    for (ValueId output : std::vector<ValueId>(alone.node(copy).outputs))
        alone.addOutput(output);
    return alone;
}

std::string mismatchOf(const Node& node, const CustomOperator& custom) {
    auto isOmitted = [](ValueId value) { return !value.valid(); };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), isOmitted))
        return "an operand is left out";
    if (std::any_of(node.outputs.begin(), node.outputs.end(), isOmitted))
        return "an output is left out";
    for (const Attributes::Entry& entry : node.attributes)
        if (!custom.attribute(entry.name))
            return fmt::format("attribute `{}` is not declared", entry.name);
    for (const AttributeSchema& schema : custom.attributes)
        if (schema.required && !node.attributes.has(schema.name))
            return fmt::format("attribute `{}` is left out and has no default", schema.name);
    const size_t operands = node.inputs.size();
    if (operands < custom.minInputs || operands > custom.maxInputs)
        return fmt::format("operands: {}, declared are {}", operands, custom.inputs.size());
    if (node.outputs.size() > custom.maxOutputs)
        return fmt::format("outputs: {}, declared are {}", node.outputs.size(), custom.maxOutputs);
    return {};
}

} // namespace

void name(Node& node, const CustomOperator& custom) {
    node.customDomain = custom.domain;
    node.customOp = custom.name;
}

Result<void> enterBody(Graph& graph, NodeId id, const CustomOperator& custom,
                       const InferenceFunction& infer) {
    Node& node = graph.edit(id);
    for (const AttributeSchema& schema : custom.attributes)
        if (schema.fallback && !node.attributes.has(schema.name))
            node.attributes.set(schema.name, *schema.fallback);
    if (!custom.body)
        return {};
    auto refuse = [&](const std::string& why) -> Result<void> {
        return failure("op.body",
                       fmt::format("the body of `{}` does not fit: {}", custom.text(), why),
                       node.name);
    };
    if (std::string why = mismatchOf(node, custom); !why.empty())
        return refuse(why);
    Graph body = aloneOf(graph, node);
    const auto prepared = prepareRule(*custom.body);
    const GraphFacts facts(body);
    const Convexity convexity(body);
    MatchResult found;
    Matcher(body, facts, convexity, {}).find(*prepared, found);
    if (found.matches.empty())
        return refuse("its operands and attributes are not such as the body is written for");
    ApplyResult applied = applyMatch(body, found.matches[0], infer);
    if (const auto* refused = std::get_if<NotApplied>(&applied))
        return refuse(refused->reason.message);
    if (infer)
        for (const InferProblem& problem : infer(body))
            return refuse(problem.message);
    node.op = Op::Fused;
    node.body = std::make_shared<const Graph>(std::move(body));
    node.notComputed.clear();
    return {};
}

namespace {

bool enterHere(Graph& graph, const std::vector<CustomOperatorPtr>& operators,
               const InferenceFunction& infer) {
    bool changed = false;
    for (NodeId id : topologicalOrder(graph))
        for (const CustomOperatorPtr& custom : operators) {
            if (graph.node(id).op != Op::Unknown || !custom->is(graph.node(id)))
                continue;
            if (Result<void> entered = enterBody(graph, id, *custom, infer); !entered) {
                changed = changed || graph.node(id).notComputed != entered.error().message;
                graph.edit(id).notComputed = entered.error().message;
            }
            // Later ones see the types that this one makes.
            if (infer && graph.node(id).op == Op::Fused)
                infer(graph);
            changed = changed || graph.node(id).op == Op::Fused;
        }
    return changed;
}

} // namespace

void enterBodies(Graph& graph, const std::vector<CustomOperatorPtr>& operators,
                 const InferenceFunction& infer) {
    if (operators.empty())
        return;
    enterHere(graph, operators, infer);
    auto inside = [&](Graph& body, const std::string&, NodeId) -> Result<bool> {
        return enterHere(body, operators, infer);
    };
    static_cast<void>(changeBodies(graph, inside)); // fails only where `inside` does
}

} // namespace fuselage
