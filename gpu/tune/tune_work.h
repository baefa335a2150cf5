// SPDX-License-Identifier: Apache-2.0
// A step's candidates on their way to one tactic: what is offered, what is left out, and what came
// of building it.
#pragma once

#include "gpu/tune/tune_steps.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// A tactic with the outcome of its build.
struct OfferedTactic {
    std::unique_ptr<Tactic> tactic;
    std::string name;
    bool plain = false; ///< a kernel of ours that others are compared with
    bool tried = false;
    std::optional<Error> failed;
    bool given = false; ///< back, with its memory on the device: another one was faster
};

/// A task on its way to one tactic.
struct TuneWork {
    TuneTask task;
    std::vector<OfferedTactic> candidates; ///< sorted by name
    std::set<std::string> leftOut;         ///< names that are not even built
    std::vector<Reason> reasons;
    bool measuredNow = false;

    OfferedTactic* named(const std::string& name) {
        for (OfferedTactic& candidate : candidates)
            if (candidate.name == name)
                return &candidate;
        return nullptr;
    }
};

/// All of its launches are of simple scalar code: known before it is built, of our kernels alone.
bool isPlain(const Tactic& tactic);

/// `without` and `condemned`: see whyLeftOut.
TuneWork tuneWorkOf(TuneTask task, const std::vector<std::string>& without,
                    const std::set<std::string, std::less<>>& condemned);

Reason reasonOf(const CandidateRecord& record);

/// The record of a candidate that does not build.
CandidateRecord failedBuild(const OfferedTactic& candidate);

/// The error of a device that a candidate took with it.
Error gone(const TuneWork& work, const TuneOutcome& outcome);

} // namespace fuselage::gpu
