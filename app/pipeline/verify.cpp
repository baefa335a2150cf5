// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/verify.h"

#include <algorithm>
#include <cmath>

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
    return std::max(toleranceOf(dtype), 2 * std::min(originalError, originalTolerance(dtype)));
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
    double largest = 0;
    bool sameSpecials = true;
    for (int64_t i = 0; i < actual.elementCount(); ++i) {
        double want = reference.at(i), have = actual.at(i);
        if (!std::isfinite(want) || !std::isfinite(have)) {
            bool same = (std::isnan(want) && std::isnan(have)) || want == have;
            sameSpecials = sameSpecials && same;
            continue;
        }
        largest = std::max(largest, std::fabs(want));
        out.maxAbsolute = std::max(out.maxAbsolute, std::fabs(want - have));
    }
    out.maxRelative = largest > 0 ? out.maxAbsolute / largest : out.maxAbsolute;
    out.ok = sameSpecials && out.maxRelative <= out.tolerance;
    return out;
}

} // namespace fuselage::app
