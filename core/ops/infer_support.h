// SPDX-License-Identifier: Apache-2.0
// Small questions that shape functions ask again and again, above InferContext: what is known of an
// input, its contents as numbers, dimensions under a reshape. Knows no operator.
#pragma once

#include "core/ops/op_table.h"

#include <optional>
#include <vector>

namespace fuselage {

/// Element type of an input; Undefined when it is omitted.
DType dtypeOf(const InferContext& context, size_t input);

/// The input's shape; null when it is omitted or even the rank is unknown.
const Shape* shapeOf(const InferContext& context, size_t input);

/// Sets a tensor output if the node has it; a null shape leaves the rank unknown.
void setTensor(InferContext& context, size_t output, DType dtype, std::optional<Shape> shape);

/// Output `output` has the type of input `input`.
void setSameAs(InferContext& context, size_t output, size_t input);

/// Contents as numbers; none when one of them is not known.
std::optional<std::vector<int64_t>> numbersOf(const InferContext& context, size_t input);

/// Contents with unknown dimensions in the place of what is not known, as long as the number of
/// elements is; none otherwise. Only for tensors of at most one dimension.
std::optional<Shape> partialContents(const InferContext& context, size_t input);

/// The first element as a number; `fallback` when the input is omitted; none when not known.
std::optional<int64_t> scalarOf(const InferContext& context, size_t input,
                                std::optional<int64_t> fallback = std::nullopt);

/// The axis as 0..rank-1; out of range is reported to the context.
std::optional<size_t> checkedAxis(InferContext& context, int64_t axis, size_t rank);

/// Passes contents on when they are known; for operators that keep elements and their order.
void passContents(InferContext& context, size_t input, size_t output);

/// Product of dimensions.
Dim productOf(const Shape& shape, size_t begin, size_t end);

/// The result of reshaping `from` to `target`, where -1 and unknown mean "what remains" and 0
/// copies unless `allowZero`; reports numbers that do not fit.
Shape reshapedShape(InferContext& context, const Shape* from, const Shape& target, bool allowZero);

/// What two types have in common (the branches of an If).
Type commonType(const Type& a, const Type& b);

} // namespace fuselage
