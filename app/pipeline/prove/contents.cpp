// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/contents.h"

#include "app/pipeline/inputs.h"
#include "app/pipeline/whole_numbers.h"
#include "core/ops/op_table.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <random>

namespace fuselage::app {

namespace {

/// The largest numbers of a float type, some below them, its subnormal ones.
double endOf(DType dtype, std::mt19937_64& random) {
    const double most = dtype == DType::Float16   ? 65504
                        : dtype == DType::Float64 ? DBL_MAX
                                                  : FLT_MAX * (1 - 0x1p-8); // bfloat16 has it too
    const double leastNormal = dtype == DType::Float16   ? 0x1p-14
                               : dtype == DType::Float64 ? DBL_MIN
                                                         : FLT_MIN;
    const double part = 1 / static_cast<double>(1 + random() % 4);
    return random() % 2 ? most * part : leastNormal * part;
}

double numberOf(DType dtype, Contents kind, int64_t index, std::mt19937_64& random) {
    switch (kind) {
    case Contents::Distinct: {
        double size = 0.25 * static_cast<double>(1 + (index * 5) % 17);
        return index % 3 == 1 ? -size : size;
    }
    case Contents::Edges: {
        constexpr double edges[] = {-1, 0, 1, -1, -0.0, 1};
        return edges[random() % std::size(edges)];
    }
    case Contents::Normal:
        return std::normal_distribution<double>(0, 1)(random);
    case Contents::Wide: {
        const double sign = random() % 2 ? 1 : -1;
        if (random() % 8 == 0)
            return random() % 2 ? 0 : sign;
        return sign * std::pow(10, std::uniform_real_distribution<double>(-4, 4)(random));
    }
    case Contents::Ends:
        return random() % 8 == 0 ? 1 : (random() % 2 ? 1 : -1) * endOf(dtype, random);
    case Contents::Specials: {
        constexpr double specials[] = {NAN, INFINITY, -INFINITY, -0.0};
        if (random() % 3 == 0)
            return specials[random() % 4];
        [[fallthrough]];
    }
    case Contents::Nans:
        if (kind == Contents::Nans && random() % 4 == 0)
            return NAN;
        [[fallthrough]];
    default:
        return 0.25 * (static_cast<double>(random() % 17) - 8);
    }
}

int64_t wholeNumberOf(DType dtype, Contents kind, std::mt19937_64& random) {
    return kind == Contents::Wide || kind == Contents::Ends ? extremeInteger(dtype, random())
                                                            : smallInteger(dtype, random());
}

/// A variance, or the step of a quantisation.
bool mustBePositive(const Graph& graph, ValueId id) {
    const std::vector<Use>& uses = graph.value(id).uses;
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
        const Op op = graph.node(use.node).op;
        return (op == Op::BatchNormalization && use.slot == 4) ||
               ((op == Op::QuantizeLinear || op == Op::DequantizeLinear) && use.slot == 1);
    });
}

/// Integers of which none may be 0.
bool divides(const Graph& graph, ValueId id) {
    const std::vector<Use>& uses = graph.value(id).uses;
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
        const Op op = graph.node(use.node).op;
        return (op == Op::Div || op == Op::Mod) && use.slot == 1;
    });
}

/// Bytes that hold several numbers each.
bool isPacked(const Graph& graph, ValueId id) {
    const std::vector<Use>& uses = graph.value(id).uses;
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
        return graph.node(use.node).op == Op::MatMulNBits && (use.slot == 1 || use.slot == 3);
    });
}

/// Integers that stand for numbers, and what is subtracted from them.
bool holdsStored(Op op, uint32_t slot) {
    switch (op) {
    case Op::DequantizeLinear:
        return slot != 1;
    case Op::QuantizeLinear:
        return slot == 2;
    case Op::MatMulInteger:
    case Op::ConvInteger:
        return true;
    default:
        return false;
    }
}

/// Values that are computed with, not looked up by.
bool isData(const Graph& graph, ValueId id) {
    const std::vector<Use>& uses = graph.value(id).uses;
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
        const Node& node = graph.node(use.node);
        const bool takesAnywhere = hasTrait(node.op, Elementwise | ContractionOp);
        return holdsStored(node.op, use.slot) ||
               (takesIntegers(node.op) && (use.slot == 0 || takesAnywhere));
    });
}

} // namespace

bool takesIntegers(Op op) {
    switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Mod:
    case Op::Neg:
    case Op::Abs:
    case Op::Sign:
    case Op::Relu:
    case Op::Max:
    case Op::Min:
    case Op::Clip:
    case Op::Pow:
    case Op::Where:
    case Op::Equal:
    case Op::Greater:
    case Op::GreaterOrEqual:
    case Op::Less:
    case Op::LessOrEqual:
    case Op::Cast:
    case Op::ReduceSum:
    case Op::ReduceMax:
    case Op::ReduceMin:
    case Op::ReduceMean:
    case Op::ReduceProd:
    case Op::ArgMax:
    case Op::ArgMin:
    case Op::CumSum:
    case Op::CumProd:
    case Op::MaxPool:
    case Op::MatMul:
    case Op::Gemm:
    case Op::Einsum:
    case Op::Sum:
    case Op::PRelu:
    case Op::Shrink:
    case Op::ReduceL1:
    case Op::ReduceL2:
    case Op::ReduceSumSquare:
    case Op::BitwiseAnd:
    case Op::BitwiseOr:
    case Op::BitwiseXor:
    case Op::BitwiseNot:
    case Op::TopK:
    case Op::Trilu:
        return true;
    default:
        return hasTrait(op, View | DataMovement);
    }
}

Tensor sampleTensor(DType dtype, const Extents& extents, Contents kind, uint64_t seed,
                    bool positive) {
    std::mt19937_64 random(seed);
    Tensor tensor(dtype, extents);
    if (kind == Contents::Wide && isFloat(dtype) && !positive && random() % 2 == 0) {
        // All of them where float32's exponential ends, on one side.
        const double sign = random() % 2 ? 1 : -1;
        // Or where it ends in one of two forms: exp(x) before sinh(x).
        const double most = random() % 2 ? 100 : 89.4;
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            tensor.set(i, sign * std::uniform_real_distribution<double>(88, most)(random));
        return tensor;
    }
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        if (positive && isFloat(dtype))
            tensor.set(i, std::ldexp(1.0, static_cast<int>(random() % 4) - 2));
        else if (isFloat(dtype))
            tensor.set(i, numberOf(dtype, kind, i, random));
        else if (dtype == DType::Bool)
            tensor.setInt(i, static_cast<int64_t>(random() % 2));
        else if (dtype != DType::String)
            tensor.setInt(i, static_cast<int64_t>(random() % 6));
    }
    return tensor;
}

void bringInto(Tensor& tensor, const ValueRange& range) {
    const double width = range.most - range.least;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        const double x = tensor.at(i);
        double in = range.least;
        if (std::isfinite(x) && width > 0)
            in += std::fmod(std::fabs(x - range.least), width);
        if (x >= range.least && x <= range.most)
            in = x;
        if (isFloat(tensor.dtype()))
            tensor.set(i, in);
        else
            tensor.setInt(i, static_cast<int64_t>(std::ceil(range.least)) +
                                 static_cast<int64_t>(in - range.least));
    }
}

Tensor sampleIntegers(DType dtype, const Extents& extents, Contents kind, uint64_t seed) {
    std::mt19937_64 random(seed);
    Tensor tensor(dtype, extents);
    for (int64_t at = 0; at < tensor.elementCount(); ++at)
        tensor.setInt(at, wholeNumberOf(dtype, kind, random));
    return tensor;
}

void replaceZeros(Tensor& integers) {
    for (int64_t at = 0; at < integers.elementCount(); ++at)
        if (integers.at(at) == 0)
            integers.setInt(at, 1);
}

bool hasLegalConstants(const Graph& graph) {
    const auto isPositive = [](const Tensor& tensor) {
        for (int64_t at = 0; at < tensor.elementCount(); ++at)
            if (!(tensor.at(at) > 0))
                return false;
        return true;
    };
    const auto values = graph.values();
    return std::all_of(values.begin(), values.end(), [&](ValueId id) {
        const TensorPtr& constant = graph.value(id).constant;
        return !constant || !isFloat(constant->dtype()) || !mustBePositive(graph, id) ||
               isPositive(*constant);
    });
}

Tensor sampleBytes(DType dtype, const Extents& extents, uint64_t seed) {
    std::mt19937_64 random(seed);
    Tensor tensor(dtype, extents);
    for (int64_t at = 0; at < tensor.elementCount(); ++at)
        tensor.setInt(at, static_cast<int64_t>(random() % 256) - (isSigned(dtype) ? 128 : 0));
    return tensor;
}

Result<std::vector<Tensor>> sampleInputs(const Graph& graph, Contents kind, uint64_t seed) {
    auto inputs = generateInputs(graph, seed);
    if (!inputs)
        return inputs;
    for (size_t i = 0; i < inputs->size(); ++i) {
        Tensor& tensor = (*inputs)[i];
        bool small = tensor.dtype() == DType::UInt8 || tensor.dtype() == DType::Int8;
        if (small && isPacked(graph, graph.inputs()[i])) {
            tensor = sampleBytes(tensor.dtype(), tensor.extents(), seed * 31 + i);
        } else if (isInteger(tensor.dtype()) && isData(graph, graph.inputs()[i])) {
            tensor = sampleIntegers(tensor.dtype(), tensor.extents(), kind, seed * 31 + i);
            if (divides(graph, graph.inputs()[i]))
                replaceZeros(tensor);
        } else if (isFloat(tensor.dtype()) && mustBePositive(graph, graph.inputs()[i])) {
            tensor = sampleTensor(tensor.dtype(), tensor.extents(), kind, seed * 31 + i, true);
        } else if (isFloat(tensor.dtype()) || small)
            tensor = sampleTensor(tensor.dtype(), tensor.extents(), kind, seed * 31 + i);
    }
    return inputs;
}

} // namespace fuselage::app
