// SPDX-License-Identifier: Apache-2.0
// Neighbouring elements of a tensor in the reference's wide types: floats as double, integers as
// int64, Bool as 0 or 1; in row-major order, from the `first` on, much faster than one by one. Not
// for strings. Written ones are rounded or wrapped to the tensor's type.
#pragma once

#include "core/graph/tensor.h"

#include <span>

namespace fuselage {

void readFloats(const Tensor& tensor, int64_t first, std::span<double> out);
void readInts(const Tensor& tensor, int64_t first, std::span<int64_t> out);
void writeFloats(Tensor& tensor, int64_t first, std::span<const double> values);
void writeInts(Tensor& tensor, int64_t first, std::span<const int64_t> values);

} // namespace fuselage
