// SPDX-License-Identifier: Apache-2.0
// What a backend knows of candidates beyond one process: the timing cache where there is one, else
// only what must not run again, beside the compiled kernels; with what ended other processes put
// in.
#pragma once

#include "gpu/tune/trials.h"
#include "gpu/tune/tune_options.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace fuselage::gpu {

class TuneStore {
public:
    /// `cacheFolder`: of compiled kernels; empty: nothing outlives the program, but what it knows
    /// when it starts itself again. `readOnly`: writes nothing. Errors of the timing cache.
    static Result<TuneStore> open(const TuneOptions& options, const std::string& cacheFolder,
                                  bool readOnly);

    TimingCache cache;

    TrialJournal& journal() { return *m_journal; }

    /// Errors of the timing cache.
    Result<void> save();

    /// A key was measured: saves when the last time is `everySeconds` ago. What cannot be written
    /// is tried again, at the latest by save(), which says why.
    void learned(double everySeconds = 2);

    /// Keys that were measured since it was opened.
    size_t measuredKeys() const { return m_measured; }

private:
    bool m_readOnly = false, m_measurements = false;
    std::string m_path;
    size_t m_measured = 0;
    std::optional<std::chrono::steady_clock::time_point> m_saved;
    std::unique_ptr<TrialJournal> m_journal;
};

} // namespace fuselage::gpu
