// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/contents.h"

#include "app/pipeline/inputs.h"
#include "core/ops/op_table.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace fuselage::app {

namespace {

double numberOf(Contents kind, int64_t index, std::mt19937_64& random) {
    switch (kind) {
    case Contents::Distinct: {
        double size = 0.25 * static_cast<double>(1 + (index * 5) % 17);
        return index % 3 == 1 ? -size : size;
    }
    case Contents::Edges:
        return static_cast<double>(random() % 3) - 1;
    case Contents::Normal:
        return std::normal_distribution<double>(0, 1)(random);
    case Contents::Wide: {
        const double sign = random() % 2 ? 1 : -1;
        if (random() % 8 == 0)
            return random() % 2 ? 0 : sign;
        return sign * std::pow(10, std::uniform_real_distribution<double>(-4, 4)(random));
    }
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

/// Of both signs where the type has them; Wide: at the ends of the types up to this one.
int64_t wholeNumberOf(DType dtype, Contents kind, std::mt19937_64& random) {
    const int64_t low = isSigned(dtype) ? -9 : 0;
    if (kind != Contents::Wide)
        return low + static_cast<int64_t>(random() % static_cast<uint64_t>(10 - low));
    constexpr int bits[] = {7, 8, 15, 16, 24, 31, 32, 40, 62};
    const int own = static_cast<int>(sizeOf(dtype)) * 8 - (isSigned(dtype) ? 1 : 0);
    const int end = std::min(own, bits[random() % std::size(bits)]);
    const int64_t past = int64_t{1} << end; // the least number is its negative, the most one less
    const auto step = static_cast<int64_t>(random() % 3);
    if (isSigned(dtype) && random() % 2)
        return -past + step;
    return std::min(past - 2 + step, end == own ? past - 1 : past);
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

/// Values that are computed with, not looked up by.
bool isData(const Graph& graph, ValueId id) {
    const std::vector<Use>& uses = graph.value(id).uses;
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
        const Node& node = graph.node(use.node);
        const bool isElementwise = hasTrait(node.op, Elementwise);
        return takesIntegers(node.op) && (use.slot == 0 || isElementwise);
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
    case Op::MatMul:
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
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            tensor.set(i, sign * std::uniform_real_distribution<double>(88, 100)(random));
        return tensor;
    }
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        if (positive && isFloat(dtype))
            tensor.set(i, std::ldexp(1.0, static_cast<int>(random() % 4) - 2));
        else if (isFloat(dtype))
            tensor.set(i, numberOf(kind, i, random));
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

Result<std::vector<Tensor>> sampleInputs(const Graph& graph, Contents kind, uint64_t seed) {
    auto inputs = generateInputs(graph, seed);
    if (!inputs)
        return inputs;
    for (size_t i = 0; i < inputs->size(); ++i) {
        Tensor& tensor = (*inputs)[i];
        bool small = tensor.dtype() == DType::UInt8 || tensor.dtype() == DType::Int8;
        if (isInteger(tensor.dtype()) && isData(graph, graph.inputs()[i])) {
            tensor = sampleIntegers(tensor.dtype(), tensor.extents(), kind, seed * 31 + i);
        } else if (isFloat(tensor.dtype()) && mustBePositive(graph, graph.inputs()[i])) {
            tensor = sampleTensor(tensor.dtype(), tensor.extents(), kind, seed * 31 + i, true);
        } else if (isFloat(tensor.dtype()) || small)
            tensor = sampleTensor(tensor.dtype(), tensor.extents(), kind, seed * 31 + i);
    }
    return inputs;
}

} // namespace fuselage::app
