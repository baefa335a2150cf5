// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elementwise.h"

#include "core/ops/evaluate.h"
#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

std::string typeList(const std::vector<DType>& types) {
    std::string out;
    for (DType type : types)
        out += (out.empty() ? "" : ", ") + std::string(nameOf(type));
    return out;
}

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

// Truncation and floor agree only where nothing is negative.
Dim quotient(const Dim& a, const Dim& b) {
    if (b == Dim(0) || b == Dim(-1))
        return {};
    if (a.isNumber() && b.isNumber())
        return a.value() / b.value();
    auto low = a.lowerBound();
    auto divisor = b.lowerBound();
    return low && divisor && *low >= 0 && *divisor >= 0 ? Dim::divide(a, b) : Dim();
}

Dim comparisonResult(TapeOp op, const Dim& a, const Dim& b) {
    auto above = (b - a).lowerBound(); // of b over a
    auto below = (a - b).lowerBound();
    bool less = above && *above > 0, greater = below && *below > 0;
    if (op == TapeOp::Equal)
        return a == b ? Dim(1) : less || greater ? Dim(0) : Dim();
    if (op == TapeOp::Less)
        return less ? Dim(1) : below && *below >= 0 ? Dim(0) : Dim();
    return above && *above >= 0 ? Dim(1) : greater ? Dim(0) : Dim();
}

Dim extremum(TapeOp op, const Dim& a, const Dim& b) {
    Dim less = comparisonResult(TapeOp::Less, a, b);
    if (!less.isNumber())
        return {};
    return (less.value() != 0) == (op == TapeOp::Min) ? a : b;
}

/// One tape operation on integers that are numbers or symbols.
Dim symbolicResult(const TapeInstruction& at, DType operandType, const Dim in[3]) {
    switch (at.op) {
    case TapeOp::Constant:
        return isFloat(at.type) ? Dim() : Dim(at.integer);
    case TapeOp::Add:
        return in[0] + in[1];
    case TapeOp::Sub:
        return in[0] - in[1];
    case TapeOp::Mul:
        return in[0] * in[1];
    case TapeOp::Div:
        return quotient(in[0], in[1]);
    case TapeOp::Neg:
        return Dim(0) - in[0];
    case TapeOp::Min:
    case TapeOp::Max:
        return extremum(at.op, in[0], in[1]);
    case TapeOp::Cast: // extents fit 32 bits; smaller types would have to wrap
        return isFloat(operandType) || sizeOf(at.type) < 4 ? Dim() : in[0];
    case TapeOp::Equal:
    case TapeOp::Less:
    case TapeOp::LessOrEqual:
        return comparisonResult(at.op, in[0], in[1]);
    case TapeOp::Not:
        return in[0].isNumber() ? Dim(in[0].value() == 0) : Dim();
    case TapeOp::Select:
        return in[0].isNumber() ? in[0].value() ? in[1] : in[2] : Dim();
    default:
        return {};
    }
}

Dim symbolicElement(const Tape& tape, const std::vector<Shape>& inputs, size_t index) {
    std::vector<Dim> registers(tape.code.size());
    for (size_t r = 0; r < tape.code.size(); ++r) {
        const TapeInstruction& at = tape.code[r];
        if (at.op == TapeOp::Input) {
            const Shape& from = inputs[at.index];
            registers[r] = from[from.size() == 1 ? 0 : index];
            continue;
        }
        const Dim in[3] = {registers[at.operand[0]], registers[at.operand[1]],
                           registers[at.operand[2]]};
        if (!isFloat(at.type))
            registers[r] = symbolicResult(at, tape.type(at.operand[0]), in);
    }
    return registers[tape.outputs[0]];
}

bool allNumbers(const std::vector<Shape>& inputs) {
    for (const Shape& input : inputs)
        for (const Dim& dim : input)
            if (!dim.isNumber())
                return false;
    return true;
}

Shape numericContents(const Tape& tape, const std::vector<Shape>& inputs) {
    std::vector<ReferenceValue> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
        ReferenceValue value =
            ReferenceValue::tensor(tape.inputs[i], {static_cast<int64_t>(inputs[i].size())});
        for (size_t k = 0; k < inputs[i].size(); ++k)
            value.ints[k] = inputs[i][k].value();
        values.push_back(std::move(value));
    }
    std::vector<const ReferenceValue*> pointers;
    for (const ReferenceValue& value : values)
        pointers.push_back(&value);
    ThreadPool caller(1);
    auto results = evaluateTape(tape, pointers, caller);
    return results ? Shape((*results)[0].ints.begin(), (*results)[0].ints.end()) : Shape{};
}

void passTapeContents(InferContext& context, const Tape& tape, const Shape& shape) {
    auto isIntegral = [](DType type) { return !isFloat(type); };
    if (shape.size() > 1 || isFloat(tape.type(tape.outputs[0])) ||
        !std::all_of(tape.inputs.begin(), tape.inputs.end(), isIntegral))
        return;
    auto extent = shape.empty() ? std::optional<int64_t>(1) : shape[0].number();
    if (!extent || *extent < 0 || *extent > maxContents)
        return;
    auto count = static_cast<size_t>(*extent);
    std::vector<Shape> inputs;
    for (size_t i = 0; i < context.inputCount(); ++i) {
        if (!context.has(i))
            continue;
        auto contents = context.contents(i);
        if (!contents || (contents->size() != 1 && contents->size() != count))
            return;
        inputs.push_back(std::move(*contents));
    }
    context.setContents(0, tapeContents(tape, inputs, count));
}

} // namespace

Shape tapeContents(const Tape& tape, const std::vector<Shape>& inputs, size_t count) {
    if (allNumbers(inputs))
        return numericContents(tape, inputs);
    Shape out;
    for (size_t i = 0; i < count; ++i)
        out.push_back(symbolicElement(tape, inputs, i));
    return out;
}

void inferElementwise(InferContext& context) {
    std::vector<DType> types = presentTypes(context);
    auto shape = broadcastOfInputs(context);
    bool typed = std::find(types.begin(), types.end(), DType::Undefined) == types.end();
    auto tape = typed ? tapeOf(context.node(), types) : std::nullopt;
    if (typed && !tape)
        context.fail(fmt::format("{} does not take operands of types {}", nameOf(context.node().op),
                                 typeList(types)));
    setTensor(context, 0, tape ? tape->type(tape->outputs[0]) : DType::Undefined, shape);
    if (tape && shape)
        passTapeContents(context, *tape, *shape);
}

} // namespace fuselage
