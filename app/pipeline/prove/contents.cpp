// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/contents.h"

#include "app/pipeline/inputs.h"

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
    case Contents::Specials: {
        constexpr double specials[] = {NAN, INFINITY, -INFINITY, -0.0};
        if (random() % 3 == 0)
            return specials[random() % 4];
        [[fallthrough]];
    }
    default:
        return 0.25 * (static_cast<double>(random() % 17) - 8);
    }
}

} // namespace

Tensor sampleTensor(DType dtype, const Extents& extents, Contents kind, uint64_t seed,
                    bool positive) {
    std::mt19937_64 random(seed);
    Tensor tensor(dtype, extents);
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

Result<std::vector<Tensor>> sampleInputs(const Graph& graph, Contents kind, uint64_t seed) {
    auto inputs = generateInputs(graph, seed);
    if (!inputs)
        return inputs;
    for (size_t i = 0; i < inputs->size(); ++i) {
        Tensor& tensor = (*inputs)[i];
        bool small = tensor.dtype() == DType::UInt8 || tensor.dtype() == DType::Int8;
        if (isFloat(tensor.dtype()) || small)
            tensor = sampleTensor(tensor.dtype(), tensor.extents(), kind, seed * 31 + i);
    }
    return inputs;
}

} // namespace fuselage::app
