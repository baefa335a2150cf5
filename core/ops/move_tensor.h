// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements, on tensors as they are stored: bytes are copied or shared, and
// nothing is widened to the reference's types. For constants that are large; knows no graph.
#pragma once

#include "core/ops/op_table.h"

#include <optional>
#include <vector>

namespace fuselage {

/// Elements of a row-major operand, read at these strides from an origin on: what Transpose,
/// Slice and Split make of it.
struct ElementWindow {
    Extents extents, strides; ///< in elements
    int64_t origin = 0;

    friend auto operator<=>(const ElementWindow&, const ElementWindow&) = default;
};

/// Which elements of an operand of these extents the node takes. Errors as its reference function.
Result<ElementWindow> transposeWindow(const Node& node, const Extents& x);
Result<ElementWindow> sliceWindow(const Node& node, const Extents& x, ReferenceInputs inputs);
/// One for each result.
Result<std::vector<ElementWindow>> splitWindows(const Node& node, const Extents& x,
                                                ReferenceInputs inputs);

/// Whether windowsOf knows the operator.
bool movesElements(Op op);

/// The windows of the node's first operand that its results are, whatever the operator; none when
/// it is no such operator or its operands do not fit. Of the first operand no elements are read.
std::optional<std::vector<ElementWindow>> windowsOf(const Node& node, const Extents& x,
                                                    ReferenceInputs inputs);

/// A tensor of the window's elements; not for strings. The window must lie in the tensor.
Tensor copyWindow(const Tensor& tensor, const ElementWindow& window);

} // namespace fuselage
