// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/integer_dots.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

constexpr int64_t quad = 4;

int64_t roundedUp(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

class DotsProduct final : public IntegerProduct {
public:
    DotsProduct(const Shape& shape, const std::vector<IntegerMatrix>& matrices,
                const VectorTable& table, Pages& pages)
        : m_shape(shape), m_multiply(table.integer.dots.products) {
        implementation = std::string("dots ") + table.name;
        constexpr auto columns = static_cast<int64_t>(ByteDots::columns);
        m_bytes = static_cast<size_t>(roundedUp(shape.n, columns) * shape.k);
        m_weights = reinterpret_cast<const int8_t*>(
            pages.filled(m_bytes * matrices.size(),
                         [&](std::byte* to) { pack(matrices, reinterpret_cast<int8_t*>(to)); }));
    }

    void run(const uint8_t* a, size_t matrix, int32_t* c, std::byte*) const override {
        m_multiply(c, static_cast<size_t>(m_shape.cStride), a, static_cast<size_t>(m_shape.aStride),
                   m_weights + matrix * m_bytes, static_cast<size_t>(m_shape.m),
                   static_cast<size_t>(m_shape.k / quad), static_cast<size_t>(m_shape.n));
    }

private:
    void pack(const std::vector<IntegerMatrix>& matrices, int8_t* to) const {
        constexpr auto columns = static_cast<int64_t>(ByteDots::columns);
        std::fill_n(to, m_bytes * matrices.size(), int8_t{0});
        for (size_t i = 0; i < matrices.size(); ++i)
            for (int64_t k = 0; k < m_shape.k; ++k)
                for (int64_t n = 0; n < m_shape.n; ++n) {
                    const int64_t at = n / columns * columns * m_shape.k +
                                       k / quad * columns * quad + n % columns * quad + k % quad;
                    to[m_bytes * i + static_cast<size_t>(at)] = static_cast<int8_t>(
                        matrices[i].values[static_cast<size_t>(k * m_shape.n + n)]);
                }
    }

    Shape m_shape;
    ByteDots::Products m_multiply;
    const int8_t* m_weights = nullptr; ///< in the pages
    size_t m_bytes = 0;                ///< of a matrix
};

} // namespace

bool areBytes(const std::vector<IntegerMatrix>& matrices) {
    return std::all_of(matrices.begin(), matrices.end(), [](const IntegerMatrix& matrix) {
        return std::all_of(matrix.values.begin(), matrix.values.end(),
                           [](int32_t value) { return value >= -128 && value <= 127; });
    });
}

bool worthDots(int64_t rows, const std::vector<IntegerMatrix>& matrices, const VectorTable& table,
               int threads) {
    // Beyond these, matrix instructions pay for the call; of few rows weights are only read.
    constexpr int64_t mostDepth = 384, mostWeights = 160 << 10, fewRows = 8;
    constexpr int64_t worthSharing = 256 << 10; // which oneDNN does by columns
    const int64_t depth = matrices[0].k, weights = depth * matrices[0].n;
    const bool small = depth <= mostDepth && weights <= mostWeights;
    const bool few = rows <= fewRows && (threads == 1 || weights <= worthSharing);
    return (small || few) && table.integer.dots.products && areBytes(matrices);
}

std::unique_ptr<IntegerProduct> makeDotsProduct(const IntegerProduct::Shape& shape,
                                                const std::vector<IntegerMatrix>& matrices,
                                                const VectorTable& table, Pages& pages) {
    return std::make_unique<DotsProduct>(shape, matrices, table, pages);
}

} // namespace fuselage::cpu
