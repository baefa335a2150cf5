// SPDX-License-Identifier: Apache-2.0
#include "core/passes/unroll.h"

#include "core/graph/bodies.h"
#include "core/graph/subgraph.h"
#include "core/ops/op_table.h"
#include "core/passes/loops.h"
#include "core/passes/written_steps.h"

#include <algorithm>

namespace fuselage {

namespace {

constexpr int64_t mostIterations = 64;
constexpr size_t mostCopies = 2048; ///< nodes

std::optional<int64_t> wholeNumber(const TensorPtr& tensor) {
    const bool isOne = tensor && tensor->elementCount() == 1 &&
                       (isInteger(tensor->dtype()) || tensor->dtype() == DType::Bool);
    return isOne ? std::optional(tensor->intAt(0)) : std::nullopt;
}

/// The condition that comes out is the one that came in, or always true.
bool neverEnds(const Graph& body) {
    ValueId condition = body.outputs()[0];
    while (!body.isConstant(condition)) {
        if (condition == body.inputs()[1])
            return true;
        const NodeId from = body.producer(condition);
        if (!from.valid() || body.node(from).op != Op::Identity)
            return false;
        condition = body.node(from).inputs[0];
    }
    return wholeNumber(body.value(condition).constant).value_or(0) != 0;
}

bool isDeterministic(const Graph& body) {
    const std::vector<NodeId> nodes = body.nodes();
    return std::none_of(nodes.begin(), nodes.end(),
                        [&](NodeId id) { return hasTrait(body.node(id).op, Nondeterministic); });
}

} // namespace

bool unrollConstantLoop(Graph& graph, NodeId id, const ConstantLookup& constantOf,
                        const KnownSequences& sequences) {
    const Node& loop = graph.node(id);
    if (loop.op != Op::Loop || loop.explicitInputs < carriedInput || !loop.inputs[0].valid())
        return false;
    const std::vector<SubgraphRef> refs = subgraphsOf(loop);
    const auto isKnown = [&](ValueId value) {
        if (const std::vector<ValueId>* elements = sequences.elementsOf(value))
            return std::all_of(elements->begin(), elements->end(), constantOf);
        return constantOf(value) != nullptr;
    };
    const int64_t trips = wholeNumber(constantOf(loop.inputs[0])).value_or(0);
    if (refs.size() != 1 || trips < 1 || trips > mostIterations)
        return false;
    const Graph& body = *refs[0].graph;
    const size_t carried = loop.explicitInputs - carriedInput;
    if (body.inputs().size() != loop.explicitInputs ||
        body.outputs().size() < carriedOutput + carried ||
        body.outputs().size() - carriedOutput < loop.outputs.size() ||
        countNodes(body) * static_cast<size_t>(trips) > mostCopies || !neverEnds(body) ||
        !isDeterministic(body))
        return false;
    if (loop.inputs[1].valid() && wholeNumber(constantOf(loop.inputs[1])).value_or(0) == 0)
        return false;
    const std::vector<ValueId> captures(loop.inputs.begin() + refs[0].firstCapture,
                                        loop.inputs.begin() + refs[0].firstCapture +
                                            static_cast<std::ptrdiff_t>(body.captures().size()));
    std::vector<ValueId> values(loop.inputs.begin() + carriedInput,
                                loop.inputs.begin() + loop.explicitInputs);
    for (size_t i = 0; i < captures.size(); ++i)
        if (!body.value(body.captures()[i]).uses.empty() && !isKnown(captures[i]))
            return false;
    if (!std::all_of(values.begin(), values.end(), isKnown))
        return false;

    // The loop's own data stays alive, and what is written is not the loop's reference.
    const std::shared_ptr<Graph> kept = refs[0].graph;
    const size_t outputs = loop.outputs.size();
    const size_t firstCopy = graph.nodeBound();
    WrittenSteps steps(graph, loop);
    Tensor yes(DType::Bool, {});
    yes.setInt(0, 1);
    const ValueId condition = steps.constant(yes);
    std::vector<std::vector<ValueId>> scanned(body.outputs().size() - carriedOutput - carried);
    for (int64_t iteration = 0; iteration < trips; ++iteration) {
        Tensor number(DType::Int64, {});
        number.setInt(0, iteration);
        std::vector<ValueId> given = {steps.constant(number), condition};
        given.insert(given.end(), values.begin(), values.end());
        const std::vector<ValueId> made = inlineBody(graph, *kept, given, captures);
        for (size_t i = 0; i < carried; ++i)
            values[i] = made[carriedOutput + i];
        for (size_t i = 0; i < scanned.size(); ++i)
            scanned[i].push_back(made[carriedOutput + carried + i]);
    }
    for (size_t i = carried; i < outputs; ++i)
        values.push_back(steps.stack(std::move(scanned[i - carried]), 0,
                                     graph.value(graph.node(id).outputs[i]).type));
    // An output that is what went in, or another output too, needs a name of its own.
    for (size_t i = 0; i < outputs; ++i) {
        const NodeId from = graph.producer(values[i]);
        const bool isNew =
            from.valid() && from.index() >= firstCopy &&
            std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) ==
                values.begin() + static_cast<std::ptrdiff_t>(i);
        if (graph.node(id).outputs[i].valid() && !isNew)
            values[i] = steps.add(Op::Identity, {values[i]}, graph.value(values[i]).type);
    }
    steps.replace(id, values);
    return true;
}

} // namespace fuselage
