// SPDX-License-Identifier: Apache-2.0
// The beginning of an epilogue on sums of 8-bit integers, float32(sum) * scale + shift (see
// core/kernel/tape_cut), in one pass, with scales that may be known only when running: what dynamic
// quantisation makes. The rest of the epilogue is somebody else's.
#pragma once

#include "core/cpu/integer_operands.h"
#include "core/kernel/tape_cut.h"

namespace fuselage::cpu {

class IntegerDequantise {
public:
    /// None where the epilogue begins with anything else.
    static std::optional<IntegerDequantise> make(const Contraction& program,
                                                 const PrepareContext& context);

    /// What follows, on float32; it has no tape where the scaled sums are the result and lie in
    /// memory by rows.
    const Epilogue& rest() const { return m_rest; }

    bool isWhole() const { return m_rest.tape.code.empty(); }

    /// Memory for what a run finds out.
    size_t runBytes() const { return (m_hasShift ? 2 : 1) * columnBytes(); }

    /// Before the strips of a run.
    void prepareRun(const Operands& operands, Threads& threads, std::byte* memory) const;

    /// Rows of sums, `step` apart, with `correction` added to each, become floats: in the result,
    /// or, where there is a rest, in their place.
    void run(const Operands& operands, const Strip& strip, int32_t* sums, int64_t step,
             const int32_t* correction, const std::byte* memory, Threads& threads) const;

private:
    IntegerDequantise(const Contraction& program, const PrepareContext& context, ScaledSums found);

    size_t columnBytes() const;

    const IntegerLoops* m_loops;
    RowDims m_dims;
    int64_t m_columns = 1;
    bool m_hasShift = false;
    Epilogue m_rest;
    std::unique_ptr<Kernel> m_columnValues; ///< scale and shift of each column
    uint32_t m_result = 0;                  ///< operand, where this is the whole epilogue
    StridedAccess m_at;
};

} // namespace fuselage::cpu
