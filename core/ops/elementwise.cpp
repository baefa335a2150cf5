// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elementwise.h"

#include "core/ops/evaluate.h"
#include "core/ops/infer_support.h"
#include "core/ops/symbolic_tape.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

std::vector<DType> presentTypes(const InferContext& context) {
    std::vector<DType> out;
    for (size_t i = 0; i < context.inputCount(); ++i)
        if (context.has(i))
            out.push_back(context.input(i).dtype);
    return out;
}

std::optional<Shape> broadcastOfInputs(InferContext& context) {
    Shape out;
    bool known = true;
    for (size_t i = 0; i < context.inputCount(); ++i) {
        if (!context.has(i))
            continue;
        const Shape* shape = shapeOf(context, i);
        if (!shape) {
            known = false;
            continue;
        }
        auto joined = broadcastShapes(out, *shape);
        if (!joined) {
            context.fail(fmt::format("{}: input {} of shape {} does not broadcast with {}",
                                     nameOf(context.node().op), i, text(*shape), text(out)));
            return std::nullopt;
        }
        out = std::move(*joined);
    }
    return known ? std::optional(out) : std::nullopt;
}

/// Shape arithmetic: contents of small integer operands give contents of the result.
void passTapeContents(InferContext& context, const Tape& tape) {
    std::vector<SymbolicTensor> operands;
    for (size_t i = 0; i < context.inputCount(); ++i) {
        if (!context.has(i))
            continue;
        auto contents = context.contents(i);
        auto extents = context.input(i).extents();
        if (!contents || !extents ||
            elementCount(*extents) != static_cast<int64_t>(contents->size()))
            return;
        operands.push_back({std::move(*extents), std::move(*contents)});
    }
    if (auto result = evaluateOnDims(tape, operands, maxContents))
        context.setContents(0, std::move(result->contents));
}

} // namespace

void inferElementwise(InferContext& context) {
    std::vector<DType> types = presentTypes(context);
    auto shape = broadcastOfInputs(context);
    bool typed = std::find(types.begin(), types.end(), DType::Undefined) == types.end();
    auto tape = typed ? tapeOf(context.node(), types) : std::nullopt;
    if (typed && !tape)
        context.fail(
            fmt::format("{} does not take {}", nameOf(context.node().op), operandTypesText(types)));
    setTensor(context, 0, tape ? tape->type(tape->outputs[0]) : DType::Undefined, shape);
    if (tape && shape && !isFloat(tape->type(tape->outputs[0])))
        passTapeContents(context, *tape);
}

} // namespace fuselage
