// SPDX-License-Identifier: Apache-2.0
// Whether the kernels of a plan are launched early: each may start while the one before it still
// runs, and waits itself (programmatic dependent launch). Never assumed: the plan's graphs are run
// both ways, their results compared bit for bit, both measured in rounds, and the verdict kept in
// the timing cache as that of two candidates.
#pragma once

#include "gpu/tune/timing_cache.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// Names of the two candidates. The first is taken where they are as fast, as what was always done.
extern const char *const apartLaunch, *const earlyLaunch;

/// The graphs of a plan that is ready to run.
struct EarlyTrial {
    /// Runs all of them so often, one after another; microseconds of one run.
    std::function<Result<double>(bool early, uint32_t times)> run;
    /// Puts the same inputs in place, and poison where results will lie.
    std::function<Result<void>()> reset;
    /// Bytes of all that the graphs write.
    std::function<Result<std::vector<std::byte>>()> results;
};

class EarlyLaunch {
public:
    /// For a plan of that key, see earlyLaunchKey. `mayMeasure`: else only what the cache knows
    /// counts. `without`: TuneOptions::without.
    EarlyLaunch(TimingCache& cache, TacticKey key, bool mayMeasure,
                const std::vector<std::string>& without);

    const TacticKey& key() const { return m_key; }

    /// False: kernels are not launched early, and there is nothing to try.
    bool wanted() const { return m_wanted; }

    /// Something was measured or refused that the cache did not know.
    bool learned() const { return m_learned; }

    /// Whether kernels are launched early. An error is one that ends the device, of an early run
    /// (`lost()`) or of another.
    Result<bool> decide(const EarlyTrial& trial);

    bool lost() const { return m_lost; }

    /// Kernels run one after another, for a reason that is not kept. Empty: none worth a word.
    void refuse(const std::string& why);

    /// What was decided and why, for reports; empty: nothing to say.
    const std::string& note() const { return m_note; }

private:
    /// Whether both ways give the same bits; else it is condemned, or cannot be told.
    Result<bool> compare(const EarlyTrial& trial);
    Result<void> measure(const EarlyTrial& trial);
    /// From what is recorded; says so in the note.
    bool verdict();
    /// Keeps why it must not be tried again.
    void condemn(const char* code, const std::string& why);

    TimingCache& m_cache;
    TacticKey m_key;
    bool m_wanted = true, m_learned = false, m_lost = false;
    std::string m_note;
};

/// How a step of a plan is computed.
struct PlannedTactic {
    TacticKey key; ///< empty: no tactic was chosen, the host computes it
    std::string name;
};

/// Of a plan: what its steps' keys say of device and software, and all of its tactics in order.
TacticKey earlyLaunchKey(const std::vector<PlannedTactic>& steps);

} // namespace fuselage::gpu
