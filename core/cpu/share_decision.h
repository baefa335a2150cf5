// SPDX-License-Identifier: Apache-2.0
// Whether threads share the steps of the next run: beside another busy process they meet late, by
// a turn of the scheduler each, and one thread may be faster. Follows from the times of past runs;
// knows no kernel. Results do not depend on it: LoneSteps takes only kernels that give the same
// bytes.
#pragma once

namespace fuselage::cpu {

class ShareDecision {
public:
    /// How the next run goes.
    bool alone() const { return m_alone; }

    /// What the steps took in a run that went so.
    void ran(double seconds);

private:
    static constexpr int fewestLate = 4, mostLate = 1024;
    /// Runs alone before sharing is tried again.
    static constexpr int shortestPatience = 64, longestPatience = 4096;

    /// Of the last few runs.
    struct Mean {
        double value = 0;
        int count = 0;

        void add(double seconds);
    };

    void ranShared(double seconds);
    void ranAlone(double seconds);
    void turn(bool alone);

    bool m_alone = false, m_probing = false;
    bool m_wasTried = false; ///< being alone
    bool m_wasLate = false;  ///< shared runs were, when they were last given up
    double m_best = 0;       ///< of all shared runs; 0: none yet
    int m_late = 0;          ///< shared runs that were, less those that were not
    int m_needed = fewestLate, m_patience = shortestPatience;
    int m_runs = 0; ///< since the last turn
    Mean m_sharedMean, m_aloneMean;
};

} // namespace fuselage::cpu
