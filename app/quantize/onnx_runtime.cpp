// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/onnx_runtime.h"

#include <algorithm>

namespace fuselage::quantize {

std::string onnxRuntimeNote(const PairPlan& plan) {
    auto isFloat8 = [](const Pair& pair) {
        return pair.type == StoredType::Float8E4M3FN || pair.type == StoredType::Float8E5M2;
    };
    auto isSixteen = [](const Pair& pair) {
        return pair.type == StoredType::Int16 || pair.type == StoredType::UInt16;
    };
    const auto& pairs = plan.pairs; // without a range: of constants
    if (std::any_of(pairs.begin(), pairs.end(), isFloat8))
        return "ONNX Runtime's CPU provider refuses float8 in what it fuses by itself, or computes "
               "it wrongly: load the file there with graph optimisations disabled";
    if (std::any_of(pairs.begin(), pairs.end(),
                    [&](const Pair& pair) { return isSixteen(pair) && pair.range; }) &&
        std::any_of(pairs.begin(), pairs.end(),
                    [&](const Pair& pair) { return isSixteen(pair) && !pair.range; }))
        return "ONNX Runtime cuts off biases behind products of 16 bits by 16 bits at its default "
               "graph optimisations: disable them there, or take --weights int8";
    return {};
}

} // namespace fuselage::quantize
