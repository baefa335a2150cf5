// SPDX-License-Identifier: Apache-2.0
// Linear quantization between floats and small integers or 8-bit floats.
#pragma once

#include "core/ops/op_table.h"

#include <optional>
#include <span>
#include <string>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> quantizeRows();

/// Why operands do not go together, and what to write in the model instead.
struct Misfit {
    std::string message, fix;
};

/// A QuantizeLinear or DequantizeLinear of `x`: scale and zero point must have a type that stores
/// numbers in steps, and one element for the tensor, each index along `axis`, or each block along
/// it. What is not known of a shape is not judged. `zero`: null where the node has none.
std::optional<Misfit> scaleMisfit(const Node& node, const Type& x, const Type& scale,
                                  const Type* zero);

/// "reference.input" at the node.
Failure misfitFailure(const Node& node, Misfit misfit);

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
