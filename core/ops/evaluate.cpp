// SPDX-License-Identifier: Apache-2.0
#include "core/ops/evaluate.h"

#include "core/graph/elements.h"
#include "core/ops/tape_interpreter.h"
#include "core/ops/tensor_index.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

std::string opName(const Node& node) {
    return node.op == Op::Unknown || node.op == Op::Fused ? node.customOp : nameOf(node.op);
}

/// Where an input of a tape lies: widened, or as it is stored, which only dense operands may be.
struct Source {
    const ReferenceValue* value = nullptr;
    const Tensor* stored = nullptr;

    const Extents& extents() const { return stored ? stored->extents() : value->extents; }

    DType dtype() const { return stored ? stored->dtype() : value->dtype; }
};

/// One tape input under broadcasting.
struct Operand {
    Source source;
    uint16_t reg;    ///< of its Input instruction
    Extents strides; ///< over the result's extents
    bool dense;      ///< same extents as the result
};

/// Copies `count` elements from row-major position `begin` of the result's space.
template <typename T>
void gather(const std::vector<T>& source, const Operand& operand, const Extents& space,
            size_t begin, size_t count, T* out) {
    if (operand.dense) {
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(begin), count, out);
        return;
    }
    if (source.size() == 1) {
        std::fill_n(out, count, source[0]);
        return;
    }
    Extents index(space.size());
    int64_t offset = 0;
    auto rest = static_cast<int64_t>(begin);
    for (size_t d = space.size(); d-- > 0; rest /= space[d]) {
        index[d] = rest % space[d];
        offset += index[d] * operand.strides[d];
    }
    for (size_t i = 0; i < count; ++i) {
        out[i] = source[static_cast<size_t>(offset)];
        for (size_t d = space.size(); d-- > 0;) {
            offset += operand.strides[d];
            if (++index[d] < space[d])
                break;
            offset -= index[d] * operand.strides[d];
            index[d] = 0;
        }
    }
}

void load(const Operand& operand, const Extents& space, size_t at, size_t count, TapeBlock& block) {
    const auto& [value, stored] = operand.source;
    const bool floats = isFloat(operand.source.dtype());
    if (stored && floats)
        readFloats(*stored, static_cast<int64_t>(at), {block.floats(operand.reg), count});
    else if (stored)
        readInts(*stored, static_cast<int64_t>(at), {block.ints(operand.reg), count});
    else if (floats)
        gather(value->floats, operand, space, at, count, block.floats(operand.reg));
    else
        gather(value->ints, operand, space, at, count, block.ints(operand.reg));
}

void store(TapeBlock& block, uint16_t reg, ReferenceValue& result, size_t at, size_t count) {
    auto offset = static_cast<std::ptrdiff_t>(at);
    if (isFloat(result.dtype))
        std::copy_n(block.floats(reg), count, result.floats.begin() + offset);
    else
        std::copy_n(block.ints(reg), count, result.ints.begin() + offset);
}

void store(TapeBlock& block, uint16_t reg, Tensor& result, size_t at, size_t count) {
    if (isFloat(result.dtype()))
        writeFloats(result, static_cast<int64_t>(at), {block.floats(reg), count});
    else
        writeInts(result, static_cast<int64_t>(at), {block.ints(reg), count});
}

ReferenceValue zeroed(const ReferenceValue*, DType dtype, const Extents& extents) {
    return ReferenceValue::tensor(dtype, extents);
}

Tensor zeroed(const Tensor*, DType dtype, const Extents& extents) {
    return Tensor(dtype, extents);
}

/// The extents of the result, which can be held.
Result<Extents> commonExtents(const std::vector<Source>& sources) {
    Extents space;
    for (const Source& source : sources) {
        auto merged = broadcastExtents(space, source.extents());
        if (!merged || !elementCount(*merged))
            return failure("reference.shape", "operands do not broadcast");
        space = std::move(*merged);
    }
    if (!fitsReference(space))
        return failure("reference.size", "the result has more elements than the interpreter takes");
    return space;
}

/// Value: ReferenceValue or Tensor.
template <typename Value>
std::vector<Value> runTape(const Tape& tape, const std::vector<Source>& sources,
                           const Extents& space, ThreadPool& threads) {
    std::vector<Operand> operands;
    for (size_t reg = 0; reg < tape.code.size(); ++reg) {
        if (tape.code[reg].op != TapeOp::Input)
            continue;
        const Source& source = sources[tape.code[reg].index];
        operands.push_back({source, static_cast<uint16_t>(reg),
                            broadcastStrides(source.extents(), space), source.extents() == space});
    }
    std::vector<Value> results;
    for (uint16_t reg : tape.outputs)
        results.push_back(zeroed(static_cast<const Value*>(nullptr), tape.type(reg), space));
    const auto all = static_cast<size_t>(*elementCount(space));
    threads.forRange(all, 1 << 14, [&](size_t begin, size_t end) {
        TapeBlock block(tape);
        for (size_t at = begin; at < end; at += TapeBlock::length) {
            const size_t count = std::min(TapeBlock::length, end - at);
            for (const Operand& operand : operands)
                load(operand, space, at, count, block);
            block.run(count);
            for (size_t k = 0; k < results.size(); ++k)
                store(block, tape.outputs[k], results[k], at, count);
        }
    });
    return results;
}

Failure typeFailure(const Node& node, const std::vector<DType>& types) {
    return failure("reference.type",
                   fmt::format("`{}` does not take {}", opName(node), operandTypesText(types)),
                   node.name);
}

} // namespace

std::string operandTypesText(const std::vector<DType>& types) {
    constexpr size_t shown = 8;
    std::string list = joined(std::span(types).first(std::min(types.size(), shown)),
                              [](DType type) { return fmt::format("`{}`", nameOf(type)); });
    return types.size() > shown ? fmt::format("{} operands: {} ...", types.size(), list) : list;
}

bool canEvaluate(Op op) {
    const OpRow& row = rowOf(op);
    return row.reference || row.tape;
}

std::optional<Tape> tapeOf(const Node& node, const std::vector<DType>& types) {
    const OpRow& row = rowOf(node.op);
    if (!row.tape || types.empty() || static_cast<int>(types.size()) < row.minInputs)
        return std::nullopt;
    auto usable = [](DType type) { return type != DType::String && type != DType::Undefined; };
    if (!std::all_of(types.begin(), types.end(), usable))
        return std::nullopt;
    TapeBuilder builder;
    std::vector<Scalar> inputs;
    for (DType type : types)
        inputs.push_back(builder.input(type));
    const Scalar result = row.tape(builder, node, inputs);
    if (builder.full())
        return std::nullopt;
    Tape tape = builder.finish({result});
    return wellTyped(tape) ? std::optional(std::move(tape)) : std::nullopt;
}

Result<std::vector<ReferenceValue>> evaluateTape(const Tape& tape,
                                                 const std::vector<const ReferenceValue*>& inputs,
                                                 ThreadPool& threads) {
    std::vector<Source> sources;
    for (const ReferenceValue* input : inputs)
        sources.push_back({.value = input});
    auto space = commonExtents(sources);
    if (!space)
        return failure(space.error());
    return runTape<ReferenceValue>(tape, sources, *space, threads);
}

Result<std::vector<Tensor>> evaluateTape(const Tape& tape, const std::vector<const Tensor*>& inputs,
                                         ThreadPool& threads) {
    std::vector<Source> sources;
    for (const Tensor* input : inputs)
        sources.push_back({.stored = input});
    auto space = commonExtents(sources);
    if (!space)
        return failure(space.error());
    std::vector<ReferenceValue> widened(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i]->extents() != *space) {
            widened[i] = ReferenceValue::from(*inputs[i]);
            sources[i] = {.value = &widened[i]};
        }
    return runTape<Tensor>(tape, sources, *space, threads);
}

Result<std::vector<ReferenceValue>> evaluateByTape(const Node& node, ReferenceInputs inputs,
                                                   ReferenceContext& context) {
    std::vector<const ReferenceValue*> present;
    std::vector<DType> types;
    for (const ReferenceValue* input : inputs) {
        if (!input)
            continue;
        if (input->kind != TypeKind::Tensor)
            return failure("reference.type", fmt::format("`{}` takes tensors", opName(node)),
                           node.name);
        present.push_back(input);
        types.push_back(input->dtype);
    }
    auto tape = tapeOf(node, types);
    if (!tape)
        return typeFailure(node, types);
    auto results = evaluateTape(*tape, present, context.threads());
    if (!results) {
        Error error = results.error();
        error.where = node.name;
        return failure(std::move(error));
    }
    return results;
}

Result<std::vector<ReferenceValue>> evaluateNode(const Node& node, ReferenceInputs inputs,
                                                 ReferenceContext& context) {
    const OpRow& row = rowOf(node.op);
    if (std::any_of(inputs.begin(), inputs.end(),
                    [](const ReferenceValue* input) { return input && isComplex(input->dtype); }))
        return failure("reference.type",
                       fmt::format("`{}` (node `{}`) works on complex numbers, which nothing here "
                                   "computes",
                                   opName(node), node.name));
    if (row.reference)
        return row.reference(node, inputs, context);
    if (row.tape)
        return evaluateByTape(node, inputs, context);
    return failure("reference.op", fmt::format("no reference function for `{}` (node `{}`)",
                                               opName(node), node.name));
}

} // namespace fuselage
