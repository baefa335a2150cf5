// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/verify.h"

#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace fuselage::app {

double toleranceOf(DType dtype) {
    switch (dtype) {
    case DType::Float64:
        return 1e-9;
    case DType::Float32:
        return 1e-4;
    case DType::Float16:
        return 1e-2;
    case DType::BFloat16:
        return 5e-2;
    default:
        return 0;
    }
}

double originalTolerance(DType dtype) {
    return 10 * toleranceOf(dtype);
}

double fusedTolerance(DType dtype, double originalError) {
    return fusedTolerance(dtype, originalError, originalTolerance(dtype));
}

double fusedTolerance(DType dtype, double originalError, double originalLimit) {
    return std::max(toleranceOf(dtype), 2 * std::min(originalError, originalLimit));
}

namespace {

/// What so many roundings of `unit` amount to: they add up like their root, and a sum of many
/// products loses several units.
double accumulated(double unit, size_t depth) {
    return 4 * unit * std::sqrt(static_cast<double>(depth));
}

} // namespace

size_t roundingDepth(const Graph& graph, DType storage) {
    std::vector<size_t> depth(graph.valueBound(), 0);
    size_t deepest = 0;
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        size_t above = 0;
        for (ValueId input : node.inputs)
            if (input.valid())
                above = std::max(above, depth[input.index()]);
        const bool rounds = !hasTrait(node.op, View | DataMovement);
        for (ValueId output : node.outputs) {
            if (!output.valid())
                continue;
            const bool stored = graph.value(output).type.dtype == storage;
            depth[output.index()] = above + (rounds && stored ? 1 : 0);
            deepest = std::max(deepest, depth[output.index()]);
        }
    }
    return deepest;
}

double storageTolerance(DType storage, size_t depth) {
    const double unit = storage == DType::Float16    ? std::ldexp(1.0, -11)
                        : storage == DType::BFloat16 ? std::ldexp(1.0, -8)
                                                     : std::ldexp(1.0, -24);
    return std::max(toleranceOf(storage), accumulated(unit, depth));
}

DType heldTo(const Graph& graph, DType output) {
    return output == DType::Float64 && roundingDepth(graph, DType::Float32) > 0 ? DType::Float32
                                                                                : output;
}

double ownTolerance(const Graph& graph, DType output) {
    double out = originalTolerance(heldTo(graph, output));
    if (isFloat(output))
        for (DType storage : {DType::Float16, DType::BFloat16})
            if (const size_t depth = roundingDepth(graph, storage))
                out = std::max(out, storageTolerance(storage, depth));
    return out;
}

namespace {

/// A neighbour of the 16-bit number nearest to `value`; itself where there is no finite one.
float narrowNeighbour(DType storage, float value, bool up) {
    const bool isHalf = storage == DType::Float16;
    const uint16_t bits = isHalf ? floatToHalf(value) : floatToBfloat16(value);
    const uint16_t magnitude = bits & 0x7fffU;
    const auto moved = static_cast<uint16_t>(magnitude == 0 || up ? bits + 1 : bits - 1);
    const auto number = [&](uint16_t code) {
        return isHalf ? halfToFloat(code) : bfloat16ToFloat(code);
    };
    return std::isfinite(number(bits)) && std::isfinite(number(moved)) ? number(moved) : value;
}

} // namespace

std::vector<Tensor> nudged(const std::vector<Tensor>& inputs, uint64_t seed, DType storage) {
    std::mt19937_64 random(seed);
    std::vector<Tensor> out;
    for (const Tensor& input : inputs) {
        out.push_back(input.clone());
        if (input.dtype() != DType::Float32)
            continue;
        for (float& value : out.back().as<float>())
            if (const bool up = random() % 2 != 0; storage == DType::Float32)
                value = std::nextafter(value, up ? INFINITY : -INFINITY);
            else
                value = narrowNeighbour(storage, value, up);
    }
    return out;
}

double amplifiedTolerance(double change, size_t depth) {
    return accumulated(change, depth);
}

OutputAgreement compareBits(const std::string& name, const std::string& side,
                            const Tensor& reference, const Tensor& actual) {
    OutputAgreement out = compareOutput(name, side, ReferenceValue::from(reference), actual, 0.0);
    if (actual.dtype() != reference.dtype() || actual.extents() != reference.extents() ||
        actual.dtype() == DType::String || actual.elementCount() == 0)
        return out;
    const size_t size = sizeOf(actual.dtype());
    int64_t different = 0, first = 0;
    for (int64_t i = 0; i < actual.elementCount(); ++i) {
        const size_t at = static_cast<size_t>(i) * size;
        if (std::memcmp(actual.bytes() + at, reference.bytes() + at, size) == 0 ||
            (isFloat(actual.dtype()) && std::isnan(actual.at(i)) && std::isnan(reference.at(i))))
            continue;
        first = different++ == 0 ? i : first;
    }
    out.ok = different == 0;
    out.note = out.ok ? fmt::format("every bit of its {} elements is that of the unfused run",
                                    actual.elementCount())
                      : fmt::format("{} of {} elements differ from the unfused run in a bit, the "
                                    "first at index {}: {} and {}",
                                    different, actual.elementCount(), first, actual.at(first),
                                    reference.at(first));
    return out;
}

OutputAgreement compareOutput(const std::string& name, const std::string& side,
                              const ReferenceValue& reference, const Tensor& actual,
                              std::optional<double> tolerance) {
    OutputAgreement out;
    out.output = name;
    out.side = side;
    out.tolerance = tolerance.value_or(toleranceOf(reference.dtype));
    if (actual.dtype() != reference.dtype || actual.extents() != reference.extents) {
        out.maxAbsolute = out.maxRelative = INFINITY;
        return out;
    }
    if (reference.dtype == DType::String) {
        out.ok = actual.strings() == reference.strings;
        return out;
    }
    out.empty = actual.elementCount() == 0;
    double largest = 0;
    bool sameSpecials = true;
    int64_t lost = 0; // finite in the reference, and here not
    int64_t made = 0; // the other way round
    int64_t none = 0; // in neither
    for (int64_t i = 0; i < actual.elementCount(); ++i) {
        double want = reference.at(i), have = actual.at(i);
        if (!std::isfinite(want) || !std::isfinite(have)) {
            bool same = (std::isnan(want) && std::isnan(have)) || want == have;
            sameSpecials = sameSpecials && same;
            lost += std::isfinite(want) ? 1 : 0;
            made += std::isfinite(have) ? 1 : 0;
            none += std::isfinite(want) || std::isfinite(have) ? 0 : 1;
            continue;
        }
        largest = std::max(largest, std::fabs(want));
        out.maxAbsolute = std::max(out.maxAbsolute, std::fabs(want - have));
    }
    if (!sameSpecials)
        out.maxAbsolute = INFINITY;
    if (none > 0)
        out.note = fmt::format("{} of {} elements are infinite or no number, on both sides", none,
                               actual.elementCount());
    if (made > 0)
        out.note = fmt::format("{} of {} elements are finite where the reference is infinite or no "
                               "number (a Relu or Clip that a library computes with a product "
                               "drops NaN; --strict keeps it)",
                               made, actual.elementCount());
    if (lost > 0)
        out.note = fmt::format("it overflowed: {} of {} elements are infinite or no number where "
                               "the reference is finite",
                               lost, actual.elementCount());
    out.maxRelative = largest > 0 ? out.maxAbsolute / largest : out.maxAbsolute;
    out.ok = out.maxRelative <= out.tolerance;
    return out;
}

} // namespace fuselage::app
