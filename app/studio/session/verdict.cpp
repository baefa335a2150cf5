// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/verdict.h"

#include <algorithm>

namespace fuselage::studio {

namespace {

constexpr double sameWithin = 0.02;

} // namespace

Verdict verdictOf(const TimingSummary& baseline, const TimingSummary& run) {
    if (run.high < baseline.low)
        return Verdict::Faster;
    if (run.low > baseline.high)
        return Verdict::Slower;
    double least = std::min(baseline.low, run.low), most = std::max(baseline.high, run.high);
    bool close =
        least >= baseline.median * (1 - sameWithin) && most <= baseline.median * (1 + sameWithin);
    return close ? Verdict::Same : Verdict::Ambiguous;
}

QString verdictText(Verdict verdict) {
    constexpr const char* texts[] = {"SAME", "FASTER", "SLOWER", "AMBIGUOUS"};
    return QString::fromLatin1(texts[static_cast<size_t>(verdict)]);
}

} // namespace fuselage::studio
