// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/contraction_match.h"

#include "core/kernel/requantise_match.h"

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

/// A cast of floats to fewer bits inside of the chain is the model's own and must round; libraries
/// do not.
bool roundsInside(const Tape& tape) {
    for (size_t i = 0; i < tape.code.size(); ++i) {
        const TapeInstruction& x = tape.code[i];
        if (x.op == TapeOp::Cast && isFloat(tape.type(x.operand[0])) &&
            sizeOf(x.type) < sizeOf(tape.type(x.operand[0])) &&
            std::find(tape.outputs.begin(), tape.outputs.end(), i) == tape.outputs.end())
            return true;
    }
    return false;
}

/// Signed bytes that are multiplied and summed exactly.
bool multipliesBytes(const KernelRequest& request, const Contraction& program) {
    return request.inputs[program.a.operand].dtype == DType::Int8 &&
           request.inputs[program.b.operand].dtype == DType::Int8 &&
           program.accumulate == DType::Int32;
}

bool sumsAreTheResult(const KernelRequest& request, const Contraction& program) {
    const Tape& tape = program.epilogue.tape;
    return program.epilogue.reads.empty() && tape.outputs.size() == 1 &&
           tape.code[tape.outputs[0]].op == TapeOp::Input &&
           request.outputs[program.epilogue.writes[0].operand].dtype == DType::Int32;
}

/// What no library computes of sums of integers, with what a person can change.
std::optional<Reason> integerReason(const KernelRequest& request, const Contraction& program) {
    if (program.accumulate != DType::Int32)
        return std::nullopt;
    for (const Access* operand : {&program.a, &program.b})
        if (request.inputs[operand->operand].dtype == DType::UInt8)
            return Reason{"dtype",
                          "an operand is uint8: the library multiplies signed bytes",
                          "store it as int8",
                          {{"dtype", nameOf(DType::UInt8)}}};
    if (program.prologueA || program.prologueB)
        return Reason{"prologue",
                      "an operand has a zero point: the library subtracts none",
                      "store it as int8 with the zero point 0",
                      {}};
    return std::nullopt;
}

/// What is read besides and written, where sums of bytes become other numbers.
std::optional<Reason> rescaledReason(const KernelRequest& request, const Contraction& program) {
    auto isKnown = [](DType type) {
        return isLibraryType(type) || type == DType::Int8 || type == DType::UInt8;
    };
    for (const OperandLayout& output : request.outputs)
        if (!isKnown(output.dtype))
            return Reason{"dtype",
                          std::string("a result is ") + nameOf(output.dtype) +
                              ": floats and 8-bit integers are supported",
                          {},
                          {{"dtype", nameOf(output.dtype)}}};
    for (const Access& read : program.epilogue.reads)
        if (!request.constant(read.operand) && !isKnown(request.inputs[read.operand].dtype))
            return Reason{"dtype",
                          std::string("an operand of the epilogue is ") +
                              nameOf(request.inputs[read.operand].dtype),
                          {},
                          {}};
    return std::nullopt;
}

std::optional<Reason> formReason(const Contraction& program) {
    if (program.kind == Contraction::Kind::ConvTranspose)
        return Reason{"kind", "transposed convolutions have generated kernels only", {}, {}};
    if (program.prologueA || program.prologueB)
        return Reason{"prologue", "work on an operand before the product is not described", {}, {}};
    if (program.poolWindow)
        return Reason{"kind", "a pool in the same launch is slower than two launches", {}, {}};
    return std::nullopt;
}

std::optional<Reason> numericReason(const KernelRequest& request, const Contraction& program) {
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

namespace {

using Numbers = std::vector<double>; // one, or one a channel

/// scale * (sum + bias) + shift as scale * sum + (scale * bias + shift).
void shiftByBias(MatchedEpilogue& epilogue, const Numbers& bias) {
    if (std::all_of(bias.begin(), bias.end(), [](double x) { return x == 0; }))
        return;
    const Numbers one{1}, zero{0};
    const Numbers& scale = epilogue.scale.empty() ? one : epilogue.scale;
    const Numbers& shift = epilogue.shift.empty() ? zero : epilogue.shift;
    auto at = [](const Numbers& x, size_t i) { return x[x.size() == 1 ? 0 : i]; };
    Numbers out(std::max({bias.size(), scale.size(), shift.size()}));
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = at(scale, i) * at(bias, i) + at(shift, i);
    epilogue.shift = std::move(out);
}

} // namespace

std::variant<MatchedContraction, Reason>
matchContraction(const KernelRequest& request, EpilogueAbilities abilities, ByteProducts bytes) {
    const auto* program = std::get_if<Contraction>(&request.program->code);
    if (program == nullptr)
        return Reason{"kind",
                      std::string("this ") + nameOf(kindOf(*request.program)) +
                          " program is no contraction",
                      {},
                      {}};
    if (auto reason = integerReason(request, *program))
        return std::move(*reason);
    if (auto reason = formReason(*program))
        return std::move(*reason);
    MatchedContraction out;
    out.program = program;
    out.dtype = request.inputs[program->a.operand].dtype;
    const bool ofBytes = bytes != ByteProducts::None && multipliesBytes(request, *program);
    out.sums = ofBytes && sumsAreTheResult(request, *program);
    if (ofBytes && !out.sums && bytes == ByteProducts::Sums)
        return Reason{"epilogue",
                      "the library gives sums of bytes as they are: how it rounds those that it "
                      "scales is not documented",
                      {},
                      {}};
    if (!out.sums)
        if (auto reason = numericReason(request, *program))
            return std::move(*reason);
    if (auto reason = !ofBytes   ? typeReason(request, *program)
                      : out.sums ? std::nullopt
                                 : rescaledReason(request, *program))
        return std::move(*reason);
    abilities.tolerance = toleranceOf(request);
    auto operandAt = [&](uint32_t operand) {
        const OperandLayout& layout = request.inputs[operand];
        const Tensor* constant = request.constant(operand).get();
        // A constant's data is row-major whatever the plan's strides are.
        return EpilogueOperand{
            layout.dtype, constant ? rowMajorStrides(layout.extents) : layout.strides, constant};
    };
    const std::vector<EpilogueInput> inputs = epilogueInputs(*program, operandAt);
    std::optional<RoundedEpilogue> cut;
    if (ofBytes && !out.sums) {
        cut = cutRounding(program->epilogue.tape, inputs);
        if (!cut)
            return Reason{"epilogue",
                          "the sums of integers do not become floats, rounded at the end or not",
                          {},
                          {}};
        abilities.storedOperands = true;
        if (!isFloat(cut->type))
            out.stored = StoredResult{cut->type, cut->step, cut->zero};
    }
    auto matched = matchEpilogue(cut ? cut->floats : program->epilogue.tape, inputs, abilities);
    if (auto* reason = std::get_if<Reason>(&matched))
        return std::move(*reason);
    out.epilogue = std::move(std::get<MatchedEpilogue>(matched));
    if (cut)
        shiftByBias(out.epilogue, cut->bias);
    return out;
}

bool scaledWeightsFit(const Tensor& weights, const std::vector<double>& scale) {
    if (!isFloat(weights.dtype()))
        return scale.empty();
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
