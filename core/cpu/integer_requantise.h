// SPDX-License-Identifier: Apache-2.0
// The epilogue of a contraction of 8-bit integers in one pass over the sums of a row, where it is a
// requantisation (core/kernel/requantise_match): bit for bit what its tape computes, but for
// products and sums that are rounded once instead of twice.
#pragma once

#include "core/cpu/integer_operands.h"
#include "core/kernel/requantise_match.h"

namespace fuselage::cpu {

class IntegerRequantise {
public:
    /// None where the epilogue is anything else, or where columns are no neighbours in memory.
    static std::optional<IntegerRequantise> make(const Contraction& program,
                                                 const PrepareContext& context);

    /// Rows of sums, `step` apart, become their part of the result. `correction`, which is
    /// repeated(), is added to each.
    void run(const Operands& operands, const Strip& strip, const int32_t* sums, int64_t step,
             const int32_t* correction, Threads& threads) const;

    /// Added to the sums of each column, as integers.
    const std::vector<int32_t>& bias() const { return m_bias; }

    /// What is given by column, for as many rows as fill whole vectors.
    template <typename T> std::vector<T> repeated(const std::vector<T>& columns) const {
        std::vector<T> out;
        for (int64_t row = 0; row < m_repeats; ++row)
            out.insert(out.end(), columns.begin(), columns.end());
        return out;
    }

private:
    IntegerRequantise(const Contraction& program, const PrepareContext& context,
                      Requantisation found);
    bool fits() const;

    /// Where a row's first element lies, in bytes.
    struct Place {
        uint32_t operand = 0;
        int64_t bytes = 0; ///< of an element
        StridedAccess at;

        int64_t offset(const Extents& row) const;
        bool hasDenseColumns(const Extents& space, const RowDims& dims) const;
        /// Whether rows of `columns` lie one behind the other.
        bool hasDenseRows(const RowDims& dims, int64_t columns) const;
    };

    const IntegerLoops* m_loops;
    RowDims m_dims;
    Extents m_space;
    int64_t m_columns = 1, m_depth = 1;
    int64_t m_repeats = 1;   ///< rows that scales and shifts are kept for
    bool m_together = false; ///< the rows of a strip along its inner dim are one
    Requantisation m_found;
    std::vector<float> m_scale, m_shift;
    std::vector<int32_t> m_bias;
    Place m_result, m_addend;
    bool m_addendSigned = false;
    DType m_addendType = DType::Undefined;
};

} // namespace fuselage::cpu
