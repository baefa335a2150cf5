// SPDX-License-Identifier: Apache-2.0
// softmax(scale * Q K^T + mask) V over heads: what the attention operators share.
#pragma once

#include "core/ops/op_table.h"

#include <optional>
#include <vector>

namespace fuselage {

/// Which of the inner matrices an operator also returns.
enum class AttentionStage { None, Scores, Capped, Masked, Weights };

struct AttentionRequest {
    ReferenceValue q, k, v; ///< [batch, heads, length, size]; k and v may have fewer heads
    double scale = 0;       ///< 0 means 1 / sqrt(size)
    double softcap = 0;     ///< 0 means none
    bool causal = false;    ///< query i sees keys up to i + pastKeys
    int64_t pastKeys = 0;
    std::vector<ReferenceValue> masks; ///< added to the scores; broadcast to them
    AttentionStage stage = AttentionStage::None;
};

struct AttentionResult {
    ReferenceValue y; ///< [batch, heads, queries, value size]
    std::optional<ReferenceValue> inner;
};

/// Rows that are masked everywhere give zeros.
Result<AttentionResult> attend(const Node& node, const AttentionRequest& request,
                               ThreadPool& threads);

/// [batch, length, heads * size] as [batch, heads, length, size], and back.
ReferenceValue splitHeads(const ReferenceValue& x, int64_t heads);
ReferenceValue joinHeads(const ReferenceValue& x);

/// a followed by b along the third of four dimensions.
Result<ReferenceValue> appendKeys(const Node& node, const ReferenceValue& a,
                                  const ReferenceValue& b);

} // namespace fuselage
