// SPDX-License-Identifier: Apache-2.0
// The walk from the result of an attention back to its operands: lower_attention.cpp has the two
// products and the softmax, lower_scores.cpp what stands between the first product and the softmax.
#pragma once

#include "core/kernel/tape_compose_internal.h"

namespace fuselage {

/// A value with its index map on the way back.
struct Cursor {
    ValueId value;
    IndexMap map;
};

inline Reason notAttention(const std::string& message, const std::string& flip) {
    return kindReason("Contraction", "Contraction", message, flip);
}

class AttentionLowering {
public:
    explicit AttentionLowering(const LowerBody& body) : m_body(body) {
        const Extents& extents = body.extents(body.graph().outputs()[0]);
        m_space = extents;
        m_first = identityMap(extents);
        m_written = extents.size();
        m_s = m_d = IndexMap(1);
    }

    LowerResult run();

private:
    std::variant<KernelProgram, DimSplit, Reason> attempt();
    bool start();
    bool walkResult();
    bool walkFirstMatMul(const Cursor& scores);
    bool placeDims();

    std::optional<Access> operandAt(Cursor at, bool scaled);
    std::optional<IndexMap> broadcast(const Cursor& at, const Node& node, ValueId operand);
    bool throughViews(Cursor& at);
    bool throughNanGuard(Cursor& at);
    /// Views, and casts between floats that the kernel computes wider than.
    bool throughViewsAndCasts(Cursor& at);

    // Between the first product and the softmax (lower_scores.cpp)
    bool walkScores(Cursor& at);
    bool walkOneScore(Cursor& at, const Node& node);
    bool goOn(Cursor& at, const Node& node, ValueId next);
    bool addReading(const Cursor& at, const Node& node, ValueId operand, ScoreStep::Kind kind);
    bool scaleBy(Cursor& at, const Node& node);
    bool takeOperand(Cursor& at, const Node& node);
    bool selectMask(Cursor& at, const Node& node);
    DType scoreType(const Node& node) const;
    bool addFunction(TapeBuilder& tape, Scalar result);
    bool applyFunction(Cursor& at, const Node& node);
    bool takeSink(Cursor& at, const Node& node);
    bool fromFirstMatMul(ValueId id) const;
    std::optional<double> scalarConstant(ValueId id) const;
    std::optional<double> uniformConstant(ValueId id) const;

    bool fail(Reason reason) {
        m_reason = std::move(reason);
        return false;
    }

    const LowerBody& m_body;
    NodeId m_firstId, m_softmaxId, m_secondId;
    Extents m_space;
    size_t m_written = 0;
    int64_t m_keys = 0;
    IndexMap m_first;  ///< of the result
    IndexMap m_s, m_d; ///< one entry each: key position and head depth
    Attention m_out;
    IndexMap m_resultMap; ///< of the second MatMul's result
    std::optional<DimSplit> m_split;
    std::optional<Reason> m_reason;
};

} // namespace fuselage
