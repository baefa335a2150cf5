// SPDX-License-Identifier: Apache-2.0
// What a person decides about tactics: where measurements are kept, whether new ones may be made,
// how much memory a tactic may ask for. Filled by the command line; the cpu backend is given the
// first two, the CUDA backend all others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fuselage::gpu {

struct TuneOptions {
    std::string timingCache; ///< file; empty: measurements live as long as the backend
    /// cpu: ways to compute that are predicted to be close are measured while preparing. cuda: all
    /// that is offered is measured, also where a first result was given with less.
    bool tune = false;
    /// cuda, without `tune`: how many candidates are built before a first result, one of each step
    /// apart; and after how many seconds what is not measured is predicted (0: whenever).
    size_t firstCandidates = 60;
    double firstSeconds = 0;
    bool frozen = false;  ///< nothing is measured: a key that the cache lacks is an error
    bool fallback = true; ///< false: a step that only a last resort can compute is an error
    int64_t workspaceLimit = int64_t{256} << 20; ///< bytes that one tactic may ask for
    double deadlineSeconds = 10; ///< what a first run may take, beside what is predicted of it
    /// cuda: what tactics' names begin with, `*` for anything; they are not built. See left_out.h.
    std::vector<std::string> without;
    /// Starts the program again, after a candidate took the device with it; returns where it
    /// cannot. `progressed`: steps were measured since the last start. Empty: that ends the run.
    std::function<void(const std::string& why, bool progressed)> startAgain;
    int starts = 0; ///< how often it was started again
};

} // namespace fuselage::gpu
