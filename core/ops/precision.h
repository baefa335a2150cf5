// SPDX-License-Identifier: Apache-2.0
// The precision of a plan: what float32 values and weights are stored as, and whether contractions
// may round their operands. Chosen by a person; core/passes changes the graph, plans record it.
#pragma once

#include "core/graph/dtype.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fuselage {

enum class Precision : uint8_t {
    Fp32, ///< as the model says
    Tf32, ///< the same graph; contractions may round float32 operands to 10 bits
    Fp16, ///< float32 values are stored as float16
    Bf16, ///< float32 values are stored as bfloat16
};

constexpr const char* precisionNames[] = {"fp32", "tf32", "fp16", "bf16"};

inline const char* nameOf(Precision precision) {
    return precisionNames[static_cast<uint8_t>(precision)];
}

inline std::optional<Precision> precisionFromName(std::string_view name) {
    for (size_t i = 0; i < std::size(precisionNames); ++i)
        if (name == precisionNames[i])
            return static_cast<Precision>(i);
    return std::nullopt;
}

/// The type in which the plan stores the model's float32 values.
inline DType storageOf(Precision precision) {
    return precision == Precision::Fp16   ? DType::Float16
           : precision == Precision::Bf16 ? DType::BFloat16
                                          : DType::Float32;
}

} // namespace fuselage
