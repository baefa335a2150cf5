// SPDX-License-Identifier: Apache-2.0
// Contraction programs: staging of operands, the sums of products, epilogue, pooling.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

KernelResult prepareContraction(const Contraction& program, const PrepareContext& context);

/// One primitive around which all else is put, loops of our own where there is none; `winograd`:
/// minimal filtering in its place, which needs canBeWinograd().
KernelResult prepareWhole(const Contraction& program, const PrepareContext& context, bool winograd);

struct StoredWeights;

/// A product with a B that lies in the operands only as `weights` store it.
KernelResult prepareStored(const Contraction& program, const PrepareContext& context,
                           const StoredWeights& weights);

/// By minimal filtering whether or not it is faster: needs canBeWinograd().
KernelResult prepareWinograd(const Contraction& program, const PrepareContext& context);

/// Any contraction in any dtype, of matrices by vector loops over columns, else by plain loops; the
/// accumulator goes to `c` (row-major over the program's space, of type program.accumulate).
class NaiveContraction {
public:
    NaiveContraction(const Contraction& program, const OperandLayout& a, const OperandLayout& b);
    void run(const std::byte* a, const std::byte* b, std::byte* c, Threads& threads) const;

private:
    template <typename Acc>
    void runAs(const std::byte* a, const std::byte* b, std::byte* c, Threads& threads) const;
    template <typename Acc>
    void multiply(const std::byte* a, const std::byte* b, std::byte* c, ColumnLoops::Sums<Acc> sums,
                  Threads& threads) const;
    template <typename Acc, typename Visit>
    void products(const Extents& index, Visit&& visit) const;

    Contraction m_program;
    OperandLayout m_a, m_b;
    StridedAccess m_aAccess, m_bAccess; ///< MatMul
};

} // namespace fuselage::cpu
