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

/// Runs candidates on a device. Errors refuse the candidate, except "cancelled", which ends the
/// tuning, and "device.lost" and "device.hung", after which nothing runs in this process any more.
/// What takes longer than `deadline` seconds hangs.
class Measurer {
public:
    virtual ~Measurer() = default;
    /// Runs the candidate once; what it wrote is from now on what others are compared with. Error
    /// "wrong-result": not all of its result was written, or something else was.
    virtual Result<void> judge(size_t candidate, double deadline) = 0;
    /// Runs the candidate once: how what it wrote differs from the judge's by more than is allowed,
    /// "3.1e-02 at element 17, allowed 4e-03"; empty when it does not.
    virtual Result<std::string> compare(size_t candidate, double deadline) = 0;
    /// Times `runs` runs in a row on data that is not zero.
    virtual Result<BatchTiming> measure(size_t candidate, uint32_t runs, double deadline) = 0;
};

/// A tactic after build(), as far as choosing is concerned.
struct TuneCandidate {
    std::string name;
    TacticFacts facts;
    double predictedSeconds = 0; ///< of one run, for its deadline
};

struct MeasureRules {
    uint32_t rounds = 5;          ///< clean rounds of every candidate that stays
    uint32_t mostRounds = 11;     ///< more are added while the leader's spread exceeds its tie band
    uint32_t mostDropped = 15;    ///< rounds; after these, unsteady rounds count and are noted
    double batchSeconds = 200e-6; ///< least length of a batch
    uint32_t mostRuns = 10000;    ///< in a batch
    double hopelessEarly = 3;     ///< times the leader, after the second clean round
    double hopelessLater = 1.5;   ///< after the third
    double deadlineSeconds = 10;  ///< what a single run may take, and so many times its prediction
    double deadlineTimes = 1000;
};

/// Seconds after which so many runs of the candidate hang.
double deadlineOf(const TuneCandidate& candidate, uint32_t runs, const MeasureRules& rules);

/// The facts of a candidate, nothing measured yet.
CandidateRecord recordOf(const TuneCandidate& candidate);

/// After these nothing runs on the device in this process: "device.lost", "device.hung".
bool endsDevice(const Error& error);

/// None when a tactic of these facts may compute the step: numeric class within what is allowed,
/// workspace within its limit.
std::optional<Reason> whyIllegal(const TacticFacts& facts, NumericClass allowed,
                                 int64_t workspaceLimit);

/// Candidates that may be chosen; the others have a record that names need and limit.
struct Legality {
    std::vector<TuneCandidate> legal;
    TimingEntry refused;
};

Legality legalCandidates(std::vector<TuneCandidate> candidates, NumericClass allowed,
                         int64_t workspaceLimit);

struct TuneOutcome {
    TimingEntry entry;
    /// The device is gone: the one record of the entry is that of the candidate that took it.
    std::optional<Error> deviceGone;
};

/// One record of each of these candidates, measured or refused by its failure. `progress` is asked
/// between batches. Error "cancelled".
Result<TuneOutcome> measureCandidates(const std::vector<TuneCandidate>& candidates,
                                      const std::vector<size_t>& which, Measurer& measurer,
                                      const MeasureRules& rules, Progress& progress);

} // namespace fuselage::gpu
