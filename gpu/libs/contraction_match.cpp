// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/contraction_match.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace fuselage::gpu {

namespace {

bool isLibraryType(DType type) {
    return type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16;
}

std::optional<Reason> typeReason(const KernelRequest& request, const Contraction& program) {
    const DType a = request.inputs[program.a.operand].dtype,
                b = request.inputs[program.b.operand].dtype;
    auto refuse = [](DType type, const char* what) {
        return Reason{"dtype",
                      std::string(what) + " is " + nameOf(type) +
                          ": float, float16 and bfloat16 are supported",
                      {},
                      {{"dtype", nameOf(type)}}};
    };
    if (!isLibraryType(a))
        return refuse(a, "an operand");
    if (a != b)
        return Reason{"dtype",
                      std::string("the operands are ") + nameOf(a) + " and " + nameOf(b),
                      "one type for both",
                      {}};
    for (const OperandLayout& output : request.outputs)
        if (!isLibraryType(output.dtype))
            return refuse(output.dtype, "a result");
    for (const Access& read : program.epilogue.reads)
        if (!isLibraryType(request.inputs[read.operand].dtype))
            return refuse(request.inputs[read.operand].dtype, "an operand of the epilogue");
    if (program.accumulate != DType::Float32)
        return refuse(program.accumulate, "the sum");
    return std::nullopt;
}

/// A cast to fewer bits inside of the chain is the model's own and must round; libraries do not.
bool roundsInside(const Tape& tape) {
    for (size_t i = 0; i < tape.code.size(); ++i) {
        const TapeInstruction& x = tape.code[i];
        if (x.op == TapeOp::Cast && sizeOf(x.type) < sizeOf(tape.type(x.operand[0])) &&
            std::find(tape.outputs.begin(), tape.outputs.end(), i) == tape.outputs.end())
            return true;
    }
    return false;
}

std::optional<Reason> formReason(const KernelRequest& request, const Contraction& program) {
    if (program.kind == Contraction::Kind::ConvTranspose)
        return Reason{"kind", "transposed convolutions have generated kernels only", {}, {}};
    if (program.prologueA || program.prologueB)
        return Reason{"prologue", "work on an operand before the product is not described", {}, {}};
    if (program.poolWindow)
        return Reason{"kind", "a pool in the same launch is slower than two launches", {}, {}};
    if (request.strict || request.allowed < NumericClass::Reassociated)
        return Reason{"numeric",
                      "libraries sum in an order of their own",
                      "allow the class `reassociated`",
                      {}};
    if (roundsInside(program.epilogue.tape))
        return Reason{"numeric", "a Cast inside of the epilogue must round", {}, {}};
    return std::nullopt;
}

/// One unit in the last place of the widest result: a model in 16 bits holds the constants of its
/// functions (the square root of two in GELU) in 16 bits.
double toleranceOf(const KernelRequest& request) {
    double out = 0x1p-7;
    for (const OperandLayout& output : request.outputs)
        out = std::min(out, output.dtype == DType::BFloat16  ? 0x1p-7
                            : output.dtype == DType::Float16 ? 0x1p-10
                                                             : exactActivation);
    return out;
}

} // namespace

std::variant<MatchedContraction, Reason> matchContraction(const KernelRequest& request,
                                                          EpilogueAbilities abilities) {
    const auto* program = std::get_if<Contraction>(&request.program->code);
    if (program == nullptr)
        return Reason{"kind",
                      std::string("this ") + nameOf(kindOf(*request.program)) +
                          " program is no contraction",
                      {},
                      {}};
    if (auto reason = formReason(request, *program))
        return std::move(*reason);
    if (auto reason = typeReason(request, *program))
        return std::move(*reason);
    abilities.tolerance = toleranceOf(request);
    auto operandAt = [&](uint32_t operand) {
        const OperandLayout& layout = request.inputs[operand];
        const Tensor* constant = request.constant(operand).get();
        // A constant's data is row-major whatever the plan's strides are.
        return EpilogueOperand{
            layout.dtype, constant ? rowMajorStrides(layout.extents) : layout.strides, constant};
    };
    auto matched =
        matchEpilogue(program->epilogue.tape, epilogueInputs(*program, operandAt), abilities);
    if (auto* reason = std::get_if<Reason>(&matched))
        return std::move(*reason);
    return MatchedContraction{program, std::move(std::get<MatchedEpilogue>(matched)),
                              request.inputs[program->a.operand].dtype};
}

bool scaledWeightsFit(const Tensor& weights, const std::vector<double>& scale) {
    double largest = 0;
    for (double factor : scale)
        largest = std::max(largest, std::abs(factor));
    if (!std::isfinite(largest))
        return false;
    if (weights.dtype() != DType::Float16)
        return true;
    // Without the sign, halves are ordered as their bits are.
    uint16_t bits = 0;
    for (uint16_t half : weights.as<uint16_t>())
        bits = std::max<uint16_t>(bits, half & 0x7fff);
    return static_cast<double>(halfToFloat(bits)) * largest <= 65504;
}

int64_t alignmentAt(const OperandLayout& layout, int64_t offset) {
    const int64_t bytes = std::abs(offset * static_cast<int64_t>(sizeOf(layout.dtype)));
    int64_t out = std::max<int64_t>(layout.alignment, 1);
    while (out > 1 && bytes % out != 0)
        out /= 2;
    return out;
}

} // namespace fuselage::gpu
