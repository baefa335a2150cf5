// SPDX-License-Identifier: Apache-2.0
// Callers split the work over a ThreadPool; Eigen's own OpenMP threads would fight with it.
#define EIGEN_DONT_PARALLELIZE
#include "core/ops/dense_product.h"

#include <Eigen/Core>

#include <algorithm>
#include <vector>

namespace fuselage {

namespace {

template <typename T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename T> auto mapped(Rows2d<T> m, int64_t rows, int64_t columns) {
    using Plain = Dense<std::remove_const_t<T>>;
    using Matrix = std::conditional_t<std::is_const_v<T>, const Plain, Plain>;
    return Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>(
        m.data, rows, columns, Eigen::OuterStride<>(m.stride));
}

} // namespace

void multiply(Rows2d<const double> a, Rows2d<const double> b, Rows2d<double> c, int64_t m,
              int64_t n, int64_t k) {
    if (m == 0 || n == 0)
        return;
    auto out = mapped(c, m, n);
    if (k == 0)
        out.setZero();
    else
        out.noalias() = mapped(a, m, k) * mapped(b, k, n);
}

// Eigen's signed overflow would be undefined behaviour; models may overflow on purpose.
void multiply(Rows2d<const int64_t> a, Rows2d<const int64_t> b, Rows2d<int64_t> c, int64_t m,
              int64_t n, int64_t k) {
    std::vector<uint64_t> sums(static_cast<size_t>(n));
    for (int64_t i = 0; i < m; ++i) {
        std::fill(sums.begin(), sums.end(), 0);
        for (int64_t p = 0; p < k; ++p) {
            auto factor = static_cast<uint64_t>(a.data[i * a.stride + p]);
            const int64_t* row = b.data + p * b.stride;
            for (int64_t j = 0; factor != 0 && j < n; ++j)
                sums[static_cast<size_t>(j)] += factor * static_cast<uint64_t>(row[j]);
        }
        std::copy(sums.begin(), sums.end(), c.data + i * c.stride);
    }
}

} // namespace fuselage
