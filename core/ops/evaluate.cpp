// SPDX-License-Identifier: Apache-2.0
#include "core/ops/evaluate.h"

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

/// One tape input under broadcasting.
struct Operand {
    const ReferenceValue* value;
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

struct TapeRun {
    const Tape& tape;
    std::vector<Operand> operands;
    Extents space;
    std::vector<ReferenceValue>& results;

    void range(size_t begin, size_t end) {
        TapeBlock block(tape);
        for (size_t at = begin; at < end; at += TapeBlock::length) {
            const size_t count = std::min(TapeBlock::length, end - at);
            for (const Operand& operand : operands) {
                if (isFloat(operand.value->dtype))
                    gather(operand.value->floats, operand, space, at, count,
                           block.floats(operand.reg));
                else
                    gather(operand.value->ints, operand, space, at, count, block.ints(operand.reg));
            }
            block.run(count);
            for (size_t k = 0; k < results.size(); ++k)
                store(block, tape.outputs[k], results[k], at, count);
        }
    }

    static void store(TapeBlock& block, uint16_t reg, ReferenceValue& result, size_t at,
                      size_t count) {
        auto offset = static_cast<std::ptrdiff_t>(at);
        if (isFloat(result.dtype))
            std::copy_n(block.floats(reg), count, result.floats.begin() + offset);
        else
            std::copy_n(block.ints(reg), count, result.ints.begin() + offset);
    }
};

std::optional<Extents> commonExtents(const std::vector<const ReferenceValue*>& inputs) {
    Extents space;
    for (const ReferenceValue* input : inputs) {
        auto merged = broadcastExtents(space, input->extents);
        if (!merged || !elementCount(*merged))
            return std::nullopt;
        space = std::move(*merged);
    }
    return space;
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
    auto space = commonExtents(inputs);
    if (!space)
        return failure("reference.shape", "operands do not broadcast");
    std::vector<Operand> operands;
    for (size_t reg = 0; reg < tape.code.size(); ++reg) {
        if (tape.code[reg].op != TapeOp::Input)
            continue;
        const ReferenceValue* value = inputs[tape.code[reg].index];
        operands.push_back({value, static_cast<uint16_t>(reg),
                            broadcastStrides(value->extents, *space), value->extents == *space});
    }
    if (!fitsReference(*space))
        return failure("reference.size", "the result has more elements than the interpreter takes");
    const auto count = static_cast<size_t>(*elementCount(*space));
    std::vector<ReferenceValue> results;
    for (uint16_t reg : tape.outputs)
        results.push_back(ReferenceValue::tensor(tape.type(reg), *space));
    TapeRun run{tape, std::move(operands), *space, results};
    threads.forRange(count, 1 << 14, [&](size_t begin, size_t end) { run.range(begin, end); });
    return results;
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
