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

class EpilogueText {
public:
    /// `stores` false: returns the tape's only result instead, for one lane.
    EpilogueText(const KernelRequest& request, const ContractionView& view, ResultLanes lanes,
                 bool stores = true);

    /// The device functions: the tape and "@finish".
    const std::string& text() const { return m_text; }
    NumericClass numeric() const { return m_numeric; }
    const ResultLanes& lanes() const { return m_lanes; }

    /// Call with the name of an array of accumulators and linear indices of the first of them.
    std::string call(const std::string& accumulators, const std::string& batch,
                     const std::string& m, const std::string& n) const;

private:
    std::string address(const KernelOperand& operand, size_t number) const;
    std::string loads(const TapeFunction& tape);
    std::string results(const TapeFunction& tape);

    const KernelRequest& m_request;
    const ContractionView& m_view;
    ResultLanes m_lanes;
    bool m_stores;
    std::vector<KernelOperand> m_operands; ///< writes, then reads
    LoopNest m_batch, m_m, m_n;
    std::string m_text, m_parameters;
    NumericClass m_numeric = NumericClass::Exact;
};

} // namespace fuselage::gpu
