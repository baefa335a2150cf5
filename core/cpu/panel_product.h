// SPDX-License-Identifier: Apache-2.0
// Products of rows of floats with constant weights that are packed once into panels of columns,
// which the workers share: for as many rows as a call has, a few at a time in registers. Knows no
// operators.
#pragma once

#include "core/cpu/row_call.h"
#include "core/cpu/threads.h"
#include "core/cpu/vector_table.h"

namespace fuselage::cpu {

class PanelProduct {
public:
    /// Weights [n, k] of any float type, row-major; they are not needed later.
    PanelProduct(const VectorTable& table, int64_t n, int64_t k, const std::byte* weights,
                 DType type, Pages& pages);

    size_t scratchBytes(int64_t rows) const;
    /// Without a bias.
    void run(const RowCall& call, std::byte* scratch, Threads& threads) const;

private:
    size_t panels() const;
    void stage(const RowCall& call, size_t first, size_t count, float* to) const;
    void multiply(const RowCall& call, const float* a, size_t panel, size_t width,
                  float* tile) const;

    const VectorTable& m_table;
    size_t m_n, m_k, m_depth;        ///< depth: k, rounded up to whole groups of lanes
    const float* m_packed = nullptr; ///< [panel][depth][column of the panel], in the pages
};

} // namespace fuselage::cpu
