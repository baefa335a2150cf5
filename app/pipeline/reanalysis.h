// SPDX-License-Identifier: Apache-2.0
// Analyses of one loaded model one after the other, while rules or options change: each takes over
// what the one before found and the change did not touch. The result is that of analyse().
#pragma once

#include "app/pipeline/analysis.h"

#include <memory>
#include <mutex>

namespace fuselage::app {

/// Serves one model. An analysis waits for the one that runs: cancel that one first.
class Reanalysis {
public:
    Reanalysis();
    ~Reanalysis();

    /// As app::analyse().
    Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                             const AnalysisOptions& options, Progress& progress);

    /// Phases and searches of rules that the last analysis took over.
    size_t reused() const;

private:
    std::mutex m_running;
    std::unique_ptr<struct AnalysisCache> m_cache;
};

} // namespace fuselage::app
