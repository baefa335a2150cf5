// SPDX-License-Identifier: Apache-2.0
// Products of rows of floats with weights that are packed into panels of columns, which the workers
// share: for as many rows as a call has, a few at a time in registers. Knows no operators.
#pragma once

#include "core/cpu/row_call.h"
#include "core/cpu/threads.h"
#include "core/cpu/vector_table.h"

#include <functional>

namespace fuselage::cpu {

class PanelProduct {
public:
    /// A row of [n, k] as floats, k of them.
    using Row = std::function<void(int64_t n, float* to)>;

    PanelProduct(const VectorTable& table, int64_t n, int64_t k);

    size_t packedBytes() const;
    /// By all workers; `row` is called by several at once.
    void pack(const Row& row, std::byte* to, Threads& threads) const;

    /// What pack() made is multiplied with from now on.
    void use(const std::byte* packed) { m_packed = reinterpret_cast<const float*>(packed); }

    size_t scratchBytes(int64_t rows) const;
    /// Without a bias.
    void run(const RowCall& call, std::byte* scratch, Threads& threads) const;

    /// Rows for which packing takes longer than multiplying each weight's row as it lies.
    static bool areFew(int64_t rows) { return rows <= 4; }

    /// The same of weights that are not packed.
    void runUnpacked(const Row& row, const RowCall& call, std::byte* scratch,
                     Threads& threads) const;

private:
    size_t panels() const;
    void stage(const RowCall& call, size_t first, size_t count, float* to) const;
    void multiply(const RowCall& call, const float* a, size_t panel, size_t width,
                  float* tile) const;

    const VectorTable& m_table;
    size_t m_n, m_k, m_depth;        ///< depth: k, rounded up to whole groups of lanes
    const float* m_packed = nullptr; ///< [panel][depth][column of the panel]
};

} // namespace fuselage::cpu
