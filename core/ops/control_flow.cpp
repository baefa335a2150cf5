// SPDX-License-Identifier: Apache-2.0
// Subgraphs are inferred and run through the contexts; captured values are bound there. Iterations
// collect what they produce and stack it at the end.
#include "core/ops/control_flow.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

/// Loops stop here, whatever they ask for, since nothing else would end a hostile one.
constexpr int64_t maxTrips = 100'000'000;

// --- If -----------------------------------------------------------------------------------

void inferIf(InferContext& context) {
    const std::vector<Type> yes = context.inferSubgraph("then_branch", {});
    const std::vector<Type> no = context.inferSubgraph("else_branch", {});
    const Tensor* condition = context.constant(0);
    const bool decided = condition && condition->elementCount() == 1;
    for (size_t i = 0; i < context.outputCount() && i < yes.size() && i < no.size(); ++i) {
        if (decided)
            context.setOutput(i, condition->intAt(0) != 0 ? yes[i] : no[i]);
        else
            context.setOutput(i, commonType(yes[i], no[i]));
    }
}

Results runIf(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue* condition = inputAt(inputs, 0);
    if (!condition || condition->count() != 1 || condition->dtype != DType::Bool)
        return badInput(node, "the condition must be one bool");
    return context.runSubgraph(condition->intAt(0) != 0 ? "then_branch" : "else_branch", {});
}

// --- what Loop and Scan share -------------------------------------------------------------

/// Values of one output over all iterations.
struct Collected {
    std::vector<ReferenceValue> values;
    int64_t elements = 0;

    Result<void> add(const Node& node, ReferenceValue value) {
        if (value.kind != TypeKind::Tensor ||
            (!values.empty() &&
             (value.extents != values[0].extents || value.dtype != values[0].dtype)))
            return badInput(node, "iterations produce values of different types");
        elements += value.count();
        if (elements > maxReferenceElements)
            return badInput(node, "the iterations produce too much");
        values.push_back(std::move(value));
        return {};
    }
};

/// The values along a new axis; `model` gives the type when there is none.
Result<ReferenceValue> stacked(const Node& node, const Collected& parts, int64_t axis,
                               bool reversed, const Type& model) {
    const auto count = static_cast<int64_t>(parts.values.size());
    DType dtype = model.dtype;
    Extents element;
    if (count > 0) {
        dtype = parts.values[0].dtype;
        element = parts.values[0].extents;
    } else if (model.shape) {
        for (const Dim& dim : *model.shape)
            element.push_back(std::max<int64_t>(0, dim.number().value_or(0)));
    }
    const auto at = normalizedAxis(axis, element.size() + 1);
    if (!at)
        return badInput(
            node, fmt::format("axis {} is out of range for rank {}", axis, element.size() + 1));
    Extents extents = element;
    extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(*at), count);
    auto out = allocateResult(node, dtype, extents);
    if (!out)
        return out;
    const int64_t outer = countOf(element, 0, *at);
    const int64_t inner = countOf(element, *at, element.size());
    for (int64_t i = 0; i < count; ++i) {
        const int64_t position = reversed ? count - 1 - i : i;
        onElements(parts.values[static_cast<size_t>(i)], *out, [&](const auto& from, auto& to) {
            for (int64_t row = 0; row < outer; ++row)
                std::copy_n(from.begin() + row * inner, inner,
                            to.begin() + (row * count + position) * inner);
        });
    }
    return out;
}

/// Element `index` of x along `axis`, without that axis.
ReferenceValue sliceAt(const ReferenceValue& x, size_t axis, int64_t index) {
    Extents extents = x.extents;
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
    ReferenceValue out = ReferenceValue::tensor(x.dtype, std::move(extents));
    const int64_t inner = countOf(x.extents, axis + 1, x.extents.size());
    const int64_t outer = countOf(x.extents, 0, axis);
    onElements(x, out, [&](const auto& from, auto& to) {
        for (int64_t row = 0; row < outer; ++row)
            std::copy_n(from.begin() + (row * x.extents[axis] + index) * inner, inner,
                        to.begin() + row * inner);
    });
    return out;
}

/// Declared type of a body's output.
Type bodyOutputType(const Node& node, size_t output) {
    const auto body = node.attributes.graph("body");
    if (!body || output >= body->outputs().size())
        return {};
    return body->value(body->outputs()[output]).type;
}

/// Types of carried values that hold before and after every iteration.
std::vector<Type> settle(std::vector<Type> carried, auto&& infer, size_t firstOutput,
                         std::vector<Type>& outputs) {
    for (int round = 0; round < 8; ++round) {
        outputs = infer(carried);
        bool stable = true;
        for (size_t i = 0; i < carried.size() && firstOutput + i < outputs.size(); ++i) {
            Type merged = commonType(carried[i], outputs[firstOutput + i]);
            merged.kind = carried[i].kind;
            if (carried[i].dtype != DType::Undefined)
                merged.dtype = carried[i].dtype;
            if (round == 6) // still moving: keep nothing but the element type
                merged.shape.reset();
            stable = stable && merged.text() == carried[i].text();
            carried[i] = std::move(merged);
        }
        if (stable)
            break;
    }
    return carried;
}

size_t explicitCount(const Node& node, ReferenceInputs inputs) {
    return std::min<size_t>(node.explicitInputs, inputs.size());
}

// --- Loop ---------------------------------------------------------------------------------

void inferLoop(InferContext& context) {
    std::vector<Type> carried;
    for (size_t i = 2; i < context.inputCount(); ++i)
        carried.push_back(context.has(i) ? context.input(i) : Type{});
    std::vector<Type> outputs;
    carried = settle(
        std::move(carried),
        [&](const std::vector<Type>& types) {
            std::vector<Type> inputs{tensorType(DType::Int64, {}), tensorType(DType::Bool, {})};
            inputs.insert(inputs.end(), types.begin(), types.end());
            return context.inferSubgraph("body", inputs);
        },
        1, outputs);
    for (size_t i = 0; i < context.outputCount(); ++i) {
        if (i < carried.size()) {
            // A body may turn an optional that it is given into what the optional holds.
            if (i + 1 < outputs.size() && carried[i].kind == TypeKind::Optional)
                carried[i].kind = outputs[i + 1].kind;
            context.setOutput(i, carried[i]);
            continue;
        }
        if (i + 1 >= outputs.size())
            break;
        Type scan = outputs[i + 1];
        if (scan.shape)
            scan.shape->insert(scan.shape->begin(), Dim());
        context.setOutput(i, std::move(scan));
    }
}

Results runLoop(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const size_t count = explicitCount(node, inputs);
    const ReferenceValue* limit = inputAt(inputs, 0);
    const ReferenceValue* condition = inputAt(inputs, 1);
    if ((limit && limit->count() != 1) || (condition && condition->count() != 1))
        return badInput(node, "trip count and condition must be scalars");
    std::vector<ReferenceValue> carried;
    for (size_t i = 2; i < count; ++i) {
        if (!inputs[i])
            return badInput(node, fmt::format("input {} is missing", i));
        carried.push_back(*inputs[i]);
    }
    const size_t scans =
        node.outputs.size() > carried.size() ? node.outputs.size() - carried.size() : 0;
    std::vector<Collected> collected(scans);
    bool goOn = !condition || condition->intAt(0) != 0;
    const int64_t trips = limit ? limit->intAt(0) : INT64_MAX;
    for (int64_t trip = 0; trip < trips && goOn; ++trip) {
        if (trip == maxTrips)
            return badInput(node, fmt::format("more than {} iterations", maxTrips));
        std::vector<ReferenceValue> arguments{ReferenceValue::tensor(DType::Int64, {}),
                                              ReferenceValue::tensor(DType::Bool, {})};
        arguments[0].ints[0] = trip;
        arguments[1].ints[0] = 1;
        std::move(carried.begin(), carried.end(), std::back_inserter(arguments));
        auto results = context.runSubgraph("body", std::move(arguments));
        if (!results)
            return results;
        if (results->size() < 1 + carried.size() + scans || (*results)[0].count() != 1)
            return badInput(node, "the body has too few outputs or no scalar condition");
        goOn = (*results)[0].intAt(0) != 0;
        for (size_t i = 0; i < carried.size(); ++i)
            carried[i] = std::move((*results)[1 + i]);
        for (size_t i = 0; i < scans; ++i)
            if (auto added = collected[i].add(node, std::move((*results)[1 + carried.size() + i]));
                !added)
                return failure(added.error());
    }
    for (size_t i = 0; i < scans; ++i) {
        auto stack =
            stacked(node, collected[i], 0, false, bodyOutputType(node, 1 + carried.size() + i));
        if (!stack)
            return failure(stack.error());
        carried.push_back(std::move(*stack));
    }
    return trimmed(node, std::move(carried));
}

// --- Scan ---------------------------------------------------------------------------------

/// How the inputs of a Scan divide into states and scanned values.
struct ScanLayout {
    size_t states = 0;
    size_t scanned = 0;
    std::vector<int64_t> inputAxes;
    std::vector<int64_t> inputDirections;
    std::vector<int64_t> outputAxes;
    std::vector<int64_t> outputDirections;

    static int64_t at(const std::vector<int64_t>& values, size_t i) {
        return i < values.size() ? values[i] : 0;
    }
};

std::optional<ScanLayout> layoutOf(const Node& node, size_t inputs) {
    const int64_t scanned = node.attributes.integer("num_scan_inputs");
    if (scanned < 1 || static_cast<size_t>(scanned) > inputs)
        return std::nullopt;
    ScanLayout out;
    out.scanned = static_cast<size_t>(scanned);
    out.states = inputs - out.scanned;
    out.inputAxes = node.attributes.integers("scan_input_axes");
    out.inputDirections =
        node.attributes.integers("scan_input_directions", node.attributes.integers("directions"));
    out.outputAxes = node.attributes.integers("scan_output_axes");
    out.outputDirections = node.attributes.integers("scan_output_directions");
    return out;
}

/// Opset 8 put an optional `sequence_lens` first and a batch axis in front of everything.
bool isBatchedScan(const Node& node, size_t inputs) {
    const auto body = node.attributes.graph("body");
    return body && body->inputs().size() + 1 == inputs;
}

void inferScan(InferContext& context) {
    const auto layout = layoutOf(context.node(), context.inputCount());
    if (!layout)
        return context.fail("`num_scan_inputs` does not fit the inputs");
    if (isBatchedScan(context.node(), context.inputCount()))
        return; // the declared types stay
    Dim length;
    std::vector<Type> scanned;
    for (size_t i = 0; i < layout->scanned; ++i) {
        Type type = context.has(layout->states + i) ? context.input(layout->states + i) : Type{};
        if (type.shape) {
            const auto axis =
                checkedAxis(context, ScanLayout::at(layout->inputAxes, i), type.rank());
            if (!axis)
                return;
            const auto at = type.shape->begin() + static_cast<std::ptrdiff_t>(*axis);
            length = length.isUnknown() || at->isNumber() ? *at : length;
            type.shape->erase(at);
        }
        scanned.push_back(std::move(type));
    }
    std::vector<Type> states;
    for (size_t i = 0; i < layout->states; ++i)
        states.push_back(context.has(i) ? context.input(i) : Type{});
    std::vector<Type> outputs;
    states = settle(
        std::move(states),
        [&](std::vector<Type> types) {
            types.insert(types.end(), scanned.begin(), scanned.end());
            return context.inferSubgraph("body", types);
        },
        0, outputs);
    for (size_t i = 0; i < context.outputCount() && i < outputs.size(); ++i) {
        if (i < states.size()) {
            context.setOutput(i, states[i]);
            continue;
        }
        Type type = outputs[i];
        if (type.shape) {
            const auto axis = checkedAxis(
                context, ScanLayout::at(layout->outputAxes, i - states.size()), type.rank() + 1);
            if (!axis)
                return;
            type.shape->insert(type.shape->begin() + static_cast<std::ptrdiff_t>(*axis), length);
        }
        context.setOutput(i, std::move(type));
    }
}

/// One pass over the scanned values; `values` are states, then scanned inputs.
Results scanOnce(const Node& node, const ScanLayout& layout, std::vector<ReferenceValue> values,
                 ReferenceContext& context) {
    std::vector<ReferenceValue> states(values.begin(),
                                       values.begin() + static_cast<std::ptrdiff_t>(layout.states));
    std::vector<size_t> axes;
    int64_t length = -1;
    for (size_t i = 0; i < layout.scanned; ++i) {
        const ReferenceValue& x = values[layout.states + i];
        const auto axis = normalizedAxis(ScanLayout::at(layout.inputAxes, i), x.extents.size());
        if (x.kind != TypeKind::Tensor || !axis || (length >= 0 && length != x.extents[*axis]))
            return badInput(node, "the scanned inputs have different lengths or no such axis");
        length = x.extents[*axis];
        axes.push_back(*axis);
    }
    const size_t outputs = std::max(node.outputs.size(), layout.states) - layout.states;
    std::vector<Collected> collected(outputs);
    for (int64_t step = 0; step < length; ++step) {
        std::vector<ReferenceValue> arguments;
        std::move(states.begin(), states.end(), std::back_inserter(arguments));
        for (size_t i = 0; i < layout.scanned; ++i) {
            const bool backwards = ScanLayout::at(layout.inputDirections, i) != 0;
            arguments.push_back(
                sliceAt(values[layout.states + i], axes[i], backwards ? length - 1 - step : step));
        }
        auto results = context.runSubgraph("body", std::move(arguments));
        if (!results)
            return results;
        if (results->size() < layout.states + outputs)
            return badInput(node, "the body has too few outputs");
        for (size_t i = 0; i < layout.states; ++i)
            states[i] = std::move((*results)[i]);
        for (size_t i = 0; i < outputs; ++i)
            if (auto added = collected[i].add(node, std::move((*results)[layout.states + i]));
                !added)
                return failure(added.error());
    }
    for (size_t i = 0; i < outputs; ++i) {
        auto stack = stacked(node, collected[i], ScanLayout::at(layout.outputAxes, i),
                             ScanLayout::at(layout.outputDirections, i) != 0,
                             bodyOutputType(node, layout.states + i));
        if (!stack)
            return failure(stack.error());
        states.push_back(std::move(*stack));
    }
    return states;
}

/// Opset 8: every batch entry on its own, the results stacked.
Results scanBatches(const Node& node, ReferenceInputs inputs, size_t count,
                    ReferenceContext& context) {
    const auto layout = layoutOf(node, count - 1);
    if (!layout || inputs[0])
        return badInput(node, "`sequence_lens` of opset 8 is not supported");
    int64_t batch = -1;
    for (size_t i = 1; i < count; ++i) {
        if (!inputs[i] || inputs[i]->extents.empty() ||
            (batch >= 0 && inputs[i]->extents[0] != batch))
            return badInput(node, "the inputs have no common batch axis");
        batch = inputs[i]->extents[0];
    }
    std::vector<Collected> collected(node.outputs.size());
    for (int64_t b = 0; b < batch; ++b) {
        std::vector<ReferenceValue> values;
        for (size_t i = 1; i < count; ++i)
            values.push_back(sliceAt(*inputs[i], 0, b));
        auto results = scanOnce(node, *layout, std::move(values), context);
        if (!results)
            return results;
        for (size_t i = 0; i < collected.size() && i < results->size(); ++i)
            if (auto added = collected[i].add(node, std::move((*results)[i])); !added)
                return failure(added.error());
    }
    std::vector<ReferenceValue> out;
    for (size_t i = 0; i < collected.size(); ++i) {
        auto stack = stacked(node, collected[i], 0, false, bodyOutputType(node, i));
        if (!stack)
            return failure(stack.error());
        out.push_back(std::move(*stack));
    }
    return out;
}

Results runScan(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const size_t count = explicitCount(node, inputs);
    if (isBatchedScan(node, count))
        return scanBatches(node, inputs, count, context);
    const auto layout = layoutOf(node, count);
    if (!layout)
        return badInput(node, "`num_scan_inputs` does not fit the inputs");
    std::vector<ReferenceValue> values;
    for (size_t i = 0; i < count; ++i) {
        if (!inputs[i])
            return badInput(node, fmt::format("input {} is missing", i));
        values.push_back(*inputs[i]);
    }
    return scanOnce(node, *layout, std::move(values), context);
}

} // namespace

std::span<const OpRow> controlFlowRows() {
    static const OpRow rows[] = {
        {.op = Op::If,
         .name = "If",
         .maxOutputs = variadic,
         .traits = ControlFlow,
         .inputs = "cond",
         .attributes = "else_branch:graph! then_branch:graph!",
         .infer = inferIf,
         .reference = runIf},
        {.op = Op::Loop,
         .name = "Loop",
         .minInputs = 2,
         .maxInputs = variadic,
         .maxOutputs = variadic,
         .traits = ControlFlow,
         .inputs = "M cond v_initial",
         .attributes = "body:graph!",
         .infer = inferLoop,
         .reference = runLoop},
        {.op = Op::Scan,
         .name = "Scan",
         .since = 8,
         .minInputs = 0, // opset 8 begins with an input that may be omitted
         .maxInputs = variadic,
         .maxOutputs = variadic,
         .traits = ControlFlow,
         .inputs = "initial_state_and_scan_inputs",
         .attributes = "body:graph! directions:ints num_scan_inputs:int! scan_input_axes:ints "
                       "scan_input_directions:ints scan_output_axes:ints "
                       "scan_output_directions:ints",
         .infer = inferScan,
         .reference = runScan},
    };
    return rows;
}

} // namespace fuselage
