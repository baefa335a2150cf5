// SPDX-License-Identifier: Apache-2.0
// What constants alone decide in the tapes of a row: each pass is folded on its own, equal results
// are read once, so a value that several passes need still stays in registers between them.
#include "core/graph/type.h"
#include "core/kernel/constant_part.h"

#include <algorithm>
#include <cstring>

namespace fuselage {

namespace {

bool sameContents(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.extents() == b.extents() &&
           std::memcmp(a.bytes(), b.bytes(), a.byteCount()) == 0;
}

class RowFolder {
public:
    RowFolder(Row& row, const std::vector<ConstantOperand>& operands,
              const ConstantEvaluator& evaluator, const FoldLimits& limits)
        : m_row(row), m_operands(operands), m_evaluator(evaluator), m_limits(limits),
          m_space(row.outer) {
        m_space.insert(m_space.end(), row.inner.begin(), row.inner.end());
        for (Row::Stage& stage : row.stages)
            m_tapes.push_back(&stage.map);
        m_tapes.push_back(&row.element);
    }

    std::vector<TensorPtr> run() {
        std::vector<TapeReads> folded;
        for (const Tape* tape : m_tapes)
            folded.push_back(fold(*tape));
        if (m_failed || m_results.empty())
            return {};
        for (const TapeReads& one : folded)
            collect(one);
        for (size_t i = 0; i < m_tapes.size(); ++i)
            *m_tapes[i] = renumbered(folded[i]);
        m_row.reads = std::move(m_reads);
        return std::move(m_results);
    }

private:
    /// With the row scalars first, then the reads.
    TapeReads fold(const Tape& tape) {
        const size_t reads = m_row.reads.size();
        if (tape.inputs.size() < reads) // an empty tape
            return {m_space, tape.inputs.size(), tape, {}};
        const size_t scalars = tape.inputs.size() - reads;
        TapeReads from{m_space, scalars, tape, m_row.reads};
        std::rotate(from.tape.inputs.begin(),
                    from.tape.inputs.begin() + static_cast<ptrdiff_t>(reads),
                    from.tape.inputs.end());
        for (TapeInstruction& x : from.tape.code)
            if (x.op == TapeOp::Input)
                x.index =
                    static_cast<uint16_t>(x.index < reads ? x.index + scalars : x.index - reads);
        FoldedReads folded = foldConstantReads(from, m_operands, m_evaluator, m_limits);
        std::vector<uint32_t> number; ///< of each result among all
        for (TensorPtr& result : folded.results) {
            m_failed = m_failed || result == nullptr;
            if (m_failed)
                return from;
            number.push_back(numberOf(std::move(result)));
        }
        const auto given = static_cast<uint32_t>(m_operands.size());
        for (Access& read : folded.rest.reads)
            if (read.operand >= given)
                read.operand = given + number[read.operand - given];
        return std::move(folded.rest);
    }

    uint32_t numberOf(TensorPtr result) {
        for (uint32_t i = 0; i < m_results.size(); ++i)
            if (sameContents(*m_results[i], *result))
                return i;
        m_results.push_back(std::move(result));
        return static_cast<uint32_t>(m_results.size() - 1);
    }

    void collect(const TapeReads& from) {
        for (size_t i = 0; i < from.reads.size(); ++i)
            if (reads(from.tape, from.given + i) &&
                std::find(m_reads.begin(), m_reads.end(), from.reads[i]) == m_reads.end()) {
                m_reads.push_back(from.reads[i]);
                m_types.push_back(from.tape.inputs[from.given + i]);
            }
    }

    static bool reads(const Tape& tape, size_t input) {
        return std::any_of(tape.code.begin(), tape.code.end(), [=](const TapeInstruction& x) {
            return x.op == TapeOp::Input && x.index == input;
        });
    }

    /// Inputs: the reads of all tapes, then the row scalars.
    Tape renumbered(const TapeReads& from) const {
        Tape out = from.tape;
        if (out.code.empty())
            return out;
        const auto& inputs = from.tape.inputs;
        out.inputs = m_types;
        out.inputs.insert(out.inputs.end(), inputs.begin(),
                          inputs.begin() + static_cast<ptrdiff_t>(from.given));
        for (TapeInstruction& x : out.code) {
            if (x.op != TapeOp::Input)
                continue;
            const size_t place =
                x.index < from.given
                    ? m_reads.size() + x.index
                    : static_cast<size_t>(std::find(m_reads.begin(), m_reads.end(),
                                                    from.reads[x.index - from.given]) -
                                          m_reads.begin());
            x.index = static_cast<uint16_t>(place);
        }
        return out;
    }

    Row& m_row;
    const std::vector<ConstantOperand>& m_operands;
    const ConstantEvaluator& m_evaluator;
    FoldLimits m_limits;
    Extents m_space;
    std::vector<Tape*> m_tapes;
    std::vector<TensorPtr> m_results;
    std::vector<Access> m_reads; ///< of all tapes after folding
    std::vector<DType> m_types;  ///< parallel to them
    bool m_failed = false;
};

} // namespace

std::vector<TensorPtr> foldConstantReads(Row& row, const std::vector<ConstantOperand>& operands,
                                         const ConstantEvaluator& evaluator,
                                         const FoldLimits& limits) {
    return RowFolder(row, operands, evaluator, limits).run();
}

} // namespace fuselage
