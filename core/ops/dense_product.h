// SPDX-License-Identifier: Apache-2.0
// Matrix products of the reference functions, in double and in wrapping int64.
#pragma once

#include <cstdint>
#include <vector>

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

/// The transpose of a dense rows x columns matrix.
template <typename T> std::vector<T> transposed(const T* data, int64_t rows, int64_t columns) {
    std::vector<T> out(static_cast<size_t>(rows * columns));
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
            out[static_cast<size_t>(c * rows + r)] = data[r * columns + c];
    return out;
}

} // namespace fuselage
