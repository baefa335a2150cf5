// SPDX-License-Identifier: Apache-2.0
// Which candidate runs for the first time: named in a file beside the timing cache before its first
// launch and no more afterwards, so that a process that ended in the middle, killed or by a crash
// of the driver, leaves behind with which candidate. Files carry the process's id and start; those
// of living processes are nobody else's business.
#pragma once

#include "gpu/tune/timing_cache.h"

#include <string>

namespace fuselage::gpu {

class TrialJournal {
public:
    /// Writes nothing.
    TrialJournal() = default;
    /// `cache`: path that the files lie beside; its folder is made. `restarts`: how often this
    /// process has started itself again.
    TrialJournal(const std::string& cache, int restarts);
    TrialJournal(const TrialJournal&) = delete;
    TrialJournal& operator=(const TrialJournal&) = delete;

    ~TrialJournal() { end(); }

    /// Before the first launch. A folder that cannot be written costs only what a crash would
    /// teach.
    void begin(const TacticKey& key, CandidateRecord candidate);
    /// It ended, well or with an error that the process has seen.
    void end();

private:
    std::string m_file; ///< empty: writes nothing
};

/// Candidates with which other processes ended, refused as "device.crashed"; removes their files
/// where `forget`.
TimingCache leftTrials(const std::string& cache, int restarts, bool forget);

} // namespace fuselage::gpu
