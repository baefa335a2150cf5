// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/share_decision.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

constexpr double lateFactor = 1.5; ///< of the best run
constexpr int trialRuns = 4;       ///< before one way is compared with the other
/// Then being alone is tried for the first time: beside a process that is busy from the beginning
/// no shared run is late by the best of them.
constexpr int firstTrial = 16;

} // namespace

void ShareDecision::Mean::add(double seconds) {
    count = std::min(count + 1, 2 * trialRuns);
    value += (seconds - value) / count;
}

void ShareDecision::turn(bool alone) {
    m_alone = alone;
    m_wasTried = true;
    m_runs = 0;
    m_late = 0;
    (alone ? m_aloneMean : m_sharedMean) = {};
}

void ShareDecision::ran(double seconds) {
    ++m_runs;
    if (m_alone)
        ranAlone(seconds);
    else
        ranShared(seconds);
}

void ShareDecision::ranShared(double seconds) {
    m_best = m_best == 0 ? seconds : std::min(m_best, seconds);
    m_sharedMean.add(seconds);
    m_late = std::max(0, m_late + (seconds > lateFactor * m_best ? 1 : -1));
    if (!m_probing) {
        m_wasLate = m_late >= m_needed;
        if (m_wasLate || (!m_wasTried && m_runs == firstTrial))
            turn(true);
        return;
    }
    if (m_runs < trialRuns)
        return;
    m_probing = false;
    const bool stillLate = m_sharedMean.value >= m_aloneMean.value;
    m_patience = stillLate ? std::min(2 * m_patience, longestPatience) : shortestPatience;
    if (stillLate)
        turn(true);
}

void ShareDecision::ranAlone(double seconds) {
    m_aloneMean.add(seconds);
    if (m_runs == trialRuns && m_aloneMean.value >= m_sharedMean.value) {
        if (m_wasLate)
            m_needed = std::min(2 * m_needed, mostLate); // being alone was no help
        turn(false);
    } else if (m_runs >= m_patience) {
        m_probing = true;
        turn(false);
    }
}

} // namespace fuselage::cpu
