// SPDX-License-Identifier: Apache-2.0
// Subgraphs are inferred and run through the contexts; captured values are bound there.
#include "core/ops/control_flow.h"

#include "core/ops/infer_support.h"
#include "core/ops/iterate.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

// --- If -----------------------------------------------------------------------------------

void inferIf(InferContext& context) {
    const std::vector<Type> yes = context.inferSubgraph("then_branch", {});
    const std::vector<Type> no = context.inferSubgraph("else_branch", {});
    const Tensor* condition = context.constant(0);
    const bool decided = condition && condition->elementCount() == 1;
    for (size_t i = 0; i < context.outputCount() && i < yes.size() && i < no.size(); ++i) {
        if (!decided && yes[i].dtype != no[i].dtype && yes[i].dtype != DType::Undefined &&
            no[i].dtype != DType::Undefined)
            return context.fail(fmt::format("result {} is {} of one branch and {} of the other", i,
                                            nameOf(yes[i].dtype), nameOf(no[i].dtype)));
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

struct ReferenceValues {
    using Value = ReferenceValue;

    static const Extents& extents(const Value& value) { return value.extents; }

    static DType dtype(const Value& value) { return value.dtype; }

    static bool isTensor(const Value& value) { return value.kind == TypeKind::Tensor; }

    static int64_t intAt(const Value& value, int64_t i) { return value.intAt(i); }

    static Value ofInt(DType dtype, int64_t number) {
        Value out = Value::tensor(dtype, {});
        out.ints[0] = number;
        return out;
    }

    static Result<Value> allocate(const Node& node, DType dtype, Extents extents) {
        return allocateResult(node, dtype, std::move(extents));
    }

    static void copyRuns(const Value& from, Value& to, const RunCopy& runs) {
        onElements(from, to, [&](const auto& source, auto& target) {
            for (int64_t run = 0; run < runs.count; ++run)
                std::copy_n(source.begin() + runs.from + run * runs.fromStep, runs.length,
                            target.begin() + runs.to + run * runs.toStep);
        });
    }
};

Iterations<ReferenceValues> iterationsOf(const Node& node, ReferenceContext& context) {
    return {node, [&context](std::vector<ReferenceValue> inputs) {
                return context.runSubgraph("body", std::move(inputs));
            }};
}

ReferenceInputs explicitOf(const Node& node, ReferenceInputs inputs) {
    return inputs.first(std::min<size_t>(node.explicitInputs, inputs.size()));
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
    auto results = iterationsOf(node, context).loop(explicitOf(node, inputs));
    return results ? trimmed(node, std::move(*results)) : std::move(results);
}

// --- Scan ---------------------------------------------------------------------------------

void inferScan(InferContext& context) {
    const auto layout = ScanLayout::of(context.node(), context.inputCount());
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

Results runScan(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    return iterationsOf(node, context).scan(explicitOf(node, inputs));
}

} // namespace

std::optional<ScanLayout> ScanLayout::of(const Node& node, size_t inputs) {
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

bool isBatchedScan(const Node& node, size_t inputs) {
    const auto body = node.attributes.graph("body");
    return body && body->inputs().size() + 1 == inputs;
}

Type bodyOutputType(const Node& node, size_t output) {
    const auto body = node.attributes.graph("body");
    if (!body || output >= body->outputs().size())
        return {};
    return body->value(body->outputs()[output]).type;
}

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
