// SPDX-License-Identifier: Apache-2.0
// Linear quantization between floats and 8-bit integers.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> quantizeRows();

/// How data is quantized to uint8 when it runs: its range, which always contains zero, in 255
/// steps. Computed as float32 computes it.
class DynamicRange {
public:
    void add(double value);

    double scale() const;
    int64_t zeroPoint() const;

private:
    double m_low = 0, m_high = 0;
};

/// The nearest of the steps of a float32 scale, ties to even, shifted by the zero point and within
/// `dtype`.
int64_t quantized(double value, double scale, double zeroPoint, DType dtype);

} // namespace fuselage
