// SPDX-License-Identifier: Apache-2.0
// Whether a command fails on a model in the way that is looked for. Each graph is asked once.
#pragma once

#include "app/batch/child.h"
#include "app/batch/reduce/reduce.h"

#include <unordered_map>

namespace fuselage::batch {

class Fault {
public:
    /// Candidates are written into `folder`.
    Fault(const ReduceOptions& options, std::string folder, Progress& progress)
        : m_options(options), m_folder(std::move(folder)), m_progress(progress) {}

    /// Learns what the failure is from the model as it is. Error "usage.reduce".
    Result<void> learn();

    /// The same failure; false also when cancelled or out of runs.
    bool shows(const Graph& graph);

    bool stopped() const { return m_progress.cancelled() || m_runs >= m_options.maxRuns; }

    size_t runs() const { return m_runs; }

    std::string text() const;

private:
    ChildResult run(const std::string& model);
    bool matches(const ChildResult& result) const;

    const ReduceOptions& m_options;
    std::string m_folder;
    Progress& m_progress;
    ChildResult m_first;
    size_t m_runs = 0;
    std::unordered_map<uint64_t, bool> m_known; ///< by a hash of the file
};

} // namespace fuselage::batch
