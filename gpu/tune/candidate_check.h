// SPDX-License-Identifier: Apache-2.0
// Before candidates are measured each runs once and is compared with a judge: the plain generated
// kernel where there is one, else the host where that is quick, else another candidate. What
// disagrees is refused as "wrong-result". A judge that stands alone against several that agree is
// the one that is refused, and they say so. Plain C++: the device is behind Measurer.
#pragma once

#include "gpu/tune/trials.h"
#include "gpu/tune/tuner.h"

namespace fuselage::gpu {

struct CheckRequest {
    const TacticKey& key;
    const std::vector<TuneCandidate>& candidates;
    bool hostMayJudge = false; ///< the step is small enough for the reference functions
    const MeasureRules& rules;
};

struct CheckedCandidates {
    std::vector<size_t> sound;            ///< may be measured; in their order
    TimingEntry refused;                  ///< the others
    std::vector<std::string> notes;       ///< parallel to all candidates
    std::optional<Error> deviceGone = {}; ///< with the one that `culprit` names
    std::optional<CandidateRecord> culprit = {};
};

/// Candidates that are last resorts pass unseen. Error "cancelled".
Result<CheckedCandidates> checkCandidates(const CheckRequest& request, Measurer& measurer,
                                          TrialJournal& journal, Progress& progress);

} // namespace fuselage::gpu
