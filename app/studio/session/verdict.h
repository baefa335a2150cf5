// SPDX-License-Identifier: Apache-2.0
// One measured time against another, by their intervals.
#pragma once

#include "core/plan/statistics.h"

#include <QString>

namespace fuselage::studio {

enum class Verdict { Same, Faster, Slower, Ambiguous };

/// Faster or Slower when the intervals are apart; Same when both lie within 2 % of the baseline's
/// median; else Ambiguous.
Verdict verdictOf(const TimingSummary& baseline, const TimingSummary& run);

/// "SAME", "FASTER", "SLOWER", "AMBIGUOUS"
QString verdictText(Verdict verdict);

} // namespace fuselage::studio
