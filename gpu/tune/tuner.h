// SPDX-License-Identifier: Apache-2.0
// Measures the candidates of one step side by side. Plain C++: the device is behind Measurer, so
// that every rule of the measurement is tested without one.
//
// Rounds are interleaved: each round times one batch of every candidate, and the next round begins
// with another candidate, so that drift and neighbours hit all alike. A round in which the clock
// changed or the device was throttled is dropped as a whole. A candidate is given up when its
// *fastest* batch is far above the *slowest* one of the leader: one disturbed batch cannot end it.
#pragma once

#include "core/support/progress.h"
#include "gpu/tune/timing_cache.h"

#include <vector>

namespace fuselage::gpu {

/// What one batch took.
struct BatchTiming {
    double seconds = 0; ///< of all runs of the batch
    bool clockChanged = false;
    bool throttled = false;
};

/// Runs candidates on a device.
class Measurer {
public:
    virtual ~Measurer() = default;
    /// Times `runs` runs in a row on data that is not zero. An Error refuses the candidate, except
    /// "cancelled" and "device.lost", which end the tuning.
    virtual Result<BatchTiming> measure(size_t candidate, uint32_t runs) = 0;
};

/// A tactic after build(), as far as choosing is concerned.
struct TuneCandidate {
    std::string name;
    TacticFacts facts;
};

struct MeasureRules {
    uint32_t rounds = 5;          ///< clean rounds of every candidate that stays
    uint32_t mostRounds = 11;     ///< more are added while the leader's spread exceeds its tie band
    uint32_t mostDropped = 15;    ///< rounds; after these, unsteady rounds count and are noted
    double batchSeconds = 200e-6; ///< least length of a batch
    uint32_t mostRuns = 10000;    ///< in a batch
    double hopelessEarly = 3;     ///< times the leader, after the second clean round
    double hopelessLater = 1.5;   ///< after the third
};

/// Candidates that may be chosen; the others have a record that names need and limit.
struct Legality {
    std::vector<TuneCandidate> legal;
    TimingEntry refused;
};

/// Numeric class within what is allowed, workspace within its limit.
Legality legalCandidates(std::vector<TuneCandidate> candidates, NumericClass allowed,
                         int64_t workspaceLimit);

/// One record a candidate, measured or refused by its failure. `progress` is asked between batches.
/// Errors "cancelled", "device.lost".
Result<TimingEntry> measureCandidates(const std::vector<TuneCandidate>& candidates,
                                      Measurer& measurer, const MeasureRules& rules,
                                      Progress& progress);

} // namespace fuselage::gpu
