// SPDX-License-Identifier: Apache-2.0
// What the attention kernels on tensor cores share: a warp owns 16 queries, whose scores and sums
// lie in its registers as products leave them (mma.cuh), so that a query is in four lanes. Which
// products these are, and how keys and values come to them, is the kernel's.
// Names in the text: `part[keys / 8][4]` are scores and then weights of the keys from `key` on,
// `sum[elements / 8][4]` the results so far; `own` is the lane, g and t its place of mma.cuh.
#pragma once

#include "gpu/kernels/attention.h"

#include <optional>
#include <string>

namespace fuselage::gpu {

constexpr int64_t queriesOfWarp = 16;
constexpr int64_t widestHead = 128; ///< elements of a query, key or value

class AttentionRows {
public:
    AttentionRows(const AttentionSpec& spec, int64_t warps)
        : m_spec(spec), m_code(*spec.code), m_queries(warps * queriesOfWarp) {}

    int64_t queries() const { return m_queries; } ///< of a block
    int64_t tiles() const;                        ///< blocks of a batch
    /// Rows move in accesses of 16 bytes.
    bool wide(const KernelOperand& operand, int64_t columns) const;
    /// Declares what a thread is: query (the block's first), warp, own, g, t and the batch.
    std::string place() const;
    /// Declares the sums of no key yet.
    std::string begin() const;
    /// Steps of `keys` scores, and the scale where steps follow it; those beyond the last key
    /// become minus infinity, which is not asked of the first `inside`.
    std::string steps(int64_t keys, int64_t inside) const;
    /// The scores become weights, what there was before shrinks to the new maximum. `sums`: some
    /// may not be zero.
    std::string weights(int64_t keys, bool sums) const;
    std::string results() const;
    KernelPart part() const; ///< all but body, helpers and what lies in shared memory

private:
    std::string wideResults() const;

    const AttentionSpec& m_spec;
    const Attention& m_code;
    int64_t m_queries;
};

/// What no kernel of this kind takes.
std::optional<Reason> refuseRows(const AttentionSpec& spec);

} // namespace fuselage::gpu
