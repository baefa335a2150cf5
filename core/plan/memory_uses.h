// SPDX-License-Identifier: Apache-2.0
// When the memory behind a plan's values was last used: what a processor's caches are asked with
// once buffers have their places. Counts bytes; prices are core/cost's.
#pragma once

#include "core/plan/plan.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace fuselage::planner {

/// Goes through a plan with its buffers placed, step by step. Runs follow each other: what no
/// earlier step of a run used was used by the run before.
class MemoryUses {
public:
    explicit MemoryUses(const Plan& plan);

    /// Of the next step, which thereby has run.
    UseDistances next();

private:
    struct Piece {
        int64_t end = 0;
        double at = 0;
    };

    /// Bytes moved when the memory of a value was last used; none: never.
    std::optional<double> lastUse(uint32_t value) const;
    void use(uint32_t value, double at);
    void advance();
    std::optional<std::pair<int64_t, int64_t>> rangeOf(uint32_t value) const;

    const Plan& m_plan;
    std::vector<int64_t> m_bytes; ///< moved by each step
    double m_run = 0;             ///< moved by all of them
    double m_moved = 0;
    size_t m_step = 0;
    std::map<int64_t, Piece> m_arena;    ///< by first byte
    std::map<uint32_t, double> m_values; ///< outside of the arena, by root
    double m_ran[2] = {0,
                       0}; ///< bytes moved when the last product, and the last other, was through
};

} // namespace fuselage::planner
