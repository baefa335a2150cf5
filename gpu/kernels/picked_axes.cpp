// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/picked_axes.h"

#include <fmt/format.h>

namespace fuselage::gpu {

std::string PickedAxes::place(const std::string& index, const std::string& indent) const {
    std::string out = indent + "long long at = 0ll;\n" + indent + "bool inside = true;\n";
    for (size_t i = 0; i < axes.size(); ++i) {
        const Axis& axis = axes[i];
        out += fmt::format(
            "{0}{{\n{0}    long long number = static_cast<long long>(load({1} + {2}ll));\n"
            "{0}    number += number < 0 ? {3}ll : 0ll;\n"
            "{0}    inside = inside && number >= 0 && number < {3}ll;\n"
            "{0}    at += number * {4}ll;\n"
            "{0}}}\n",
            indent, index, static_cast<int64_t>(i) * numberStep, axis.extent, axis.step);
    }
    return out;
}

bool picksPlaces(DType type) {
    return type == DType::Int64 || type == DType::Int32;
}

} // namespace fuselage::gpu
