// SPDX-License-Identifier: Apache-2.0
// Matrix products of the reference functions, in double and in wrapping int64.
#pragma once

#include <cstdint>

namespace fuselage {

/// Row-major operand; consecutive rows are `stride` elements apart.
template <typename T> struct Rows2d {
    T* data;
    int64_t stride;
};

/// c[m,n] = a[m,k] * b[k,n] on the calling thread. c must not overlap a or b.
void multiply(Rows2d<const double> a, Rows2d<const double> b, Rows2d<double> c, int64_t m,
              int64_t n, int64_t k);
void multiply(Rows2d<const int64_t> a, Rows2d<const int64_t> b, Rows2d<int64_t> c, int64_t m,
              int64_t n, int64_t k);

} // namespace fuselage
