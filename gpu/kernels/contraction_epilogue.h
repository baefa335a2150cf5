// SPDX-License-Identifier: Apache-2.0
// The elementwise end of a contraction as one device function: takes the accumulators of some
// neighbouring results, reads what the tape wants, applies it and stores.
#pragma once

#include "gpu/kernels/contraction_view.h"

namespace fuselage::gpu {

/// How a thread's results lie next to each other.
struct ResultLanes {
    int width = 1;
    bool alongM = false; ///< else along n
};

/// Most neighbouring results that every output takes as one access of at most 16 bytes (8 at most).
ResultLanes widestResults(const ContractionView& view);

/// What the device function does beside the tape.
enum class EpilogueEnd : uint8_t {
    Stores,
    Returns, ///< the tape's only result, for one lane
    /// Returns, and who takes the result rounds it to the type that the view writes.
    Unrounded,
    /// Stores, in three steps: "@columns" reads and places what is the same for all m, "@rows"
    /// reads the rest for one m, "@finish" ends it.
    Columns,
};

class EpilogueText {
public:
    /// `landed`: of the view's reads one that who ends in columns has in shared memory.
    EpilogueText(const KernelRequest& request, const ContractionView& view, ResultLanes lanes,
                 EpilogueEnd end = EpilogueEnd::Stores, std::optional<size_t> landed = {});

    /// The device functions: the tape and "@finish".
    const std::string& text() const { return m_text; }
    NumericClass numeric() const { return m_numeric; }
    const ResultLanes& lanes() const { return m_lanes; }

    /// Call with the name of an array of accumulators and linear indices of the first of them.
    std::string call(const std::string& accumulators, const std::string& batch,
                     const std::string& m, const std::string& n) const;

    /// The steps: the first fills a "@Columns", the second a "@Rows", the third takes both. m and n
    /// are within the results. `landed`: where the elements of the operand that landed begin.
    std::string columnsCall(const std::string& to, const std::string& batch,
                            const std::string& n) const;
    std::string rowsCall(const std::string& to, const std::string& from, const std::string& m,
                         const std::string& landed) const;
    std::string finishCall(const std::string& accumulators, const std::string& from,
                           const std::string& rows, const std::string& m) const;
    /// Whether the second step reads global memory.
    bool fetchesForRows() const { return m_fetchesForRows; }
    /// Instructions of the tape.
    size_t length() const { return m_length; }
    /// Of all results but for the operand that landed, where neighbouring threads end those of
    /// `line` neighbours along the lanes' axis, then those of the next of `lines` along the other
    /// one (contraction_memory.cpp).
    MemoryAsked memory(int64_t line, int64_t lines) const;

private:
    bool inColumns() const { return m_end == EpilogueEnd::Columns; }
    bool hasLanded(size_t number) const {
        return m_landed && number == m_operands.size() - m_view.reads.size() + *m_landed;
    }
    size_t numberOf(uint16_t used) const {
        return m_operands.size() - m_view.reads.size() + used - 1;
    }
    LaneAccess access(size_t number) const;
    std::string address(const KernelOperand& operand, size_t number) const;
    std::string loads(const TapeFunction& tape, bool columns) const;
    std::string results(const TapeFunction& tape) const;
    std::string columns(const TapeFunction& tape) const;
    std::string rows(const TapeFunction& tape) const;
    std::string unpacked(const TapeFunction& tape) const;
    int bytesOf(const KernelOperand& operand) const {
        return m_lanes.width * static_cast<int>(sizeOf(operand.dtype));
    }
    std::string splits(bool batch, bool m, bool n) const;

    const KernelRequest& m_request;
    const ContractionView& m_view;
    ResultLanes m_lanes;
    EpilogueEnd m_end;
    std::optional<size_t> m_landed;
    std::vector<KernelOperand> m_operands; ///< writes, then reads
    LoopNest m_batch, m_m, m_n;
    std::string m_text, m_parameters;
    NumericClass m_numeric = NumericClass::Exact;
    size_t m_length = 0;
    bool m_fetchesForRows = false;
};

} // namespace fuselage::gpu
