// SPDX-License-Identifier: Apache-2.0
// What a backend knows of candidates beyond one process: the timing cache where there is one, else
// only what must not run again, beside the compiled kernels; with what ended other processes put
// in.
#pragma once

#include "gpu/tune/trials.h"
#include "gpu/tune/tune_options.h"

#include <memory>
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
    Result<void> save() const;

private:
    bool m_readOnly = false, m_measurements = false;
    std::string m_path;
    std::unique_ptr<TrialJournal> m_journal;
};

} // namespace fuselage::gpu
