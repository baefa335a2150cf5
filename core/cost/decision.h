// SPDX-License-Identifier: Apache-2.0
// Does a fusion pay? Compares the predicted time of one fused program with that of the programs it
// replaces and explains the difference. Measures nothing itself.
#pragma once

#include "core/cost/cost.h"
#include "core/support/reason.h"

#include <vector>

namespace fuselage {

enum class Verdict : uint8_t {
    Fuse,
    Keep,    ///< leave the parts as they are
    Measure, ///< the estimates overlap: time both sides
};

/// Signed seconds that fusing saves, by cause; negative costs. Their sum is the predicted gain.
struct GainBars {
    double traffic = 0; ///< bytes not moved through DRAM and L2
    double launch = 0;  ///< launches not made
    double compute = 0; ///< instructions and matrix work added (negative) or saved
    double overlap = 0; ///< what the resources hide behind each other differently

    double total() const { return traffic + launch + compute + overlap; }
};

struct Decision {
    Verdict verdict = Verdict::Measure;
    double fusedSeconds = 0;
    double unfusedSeconds = 0;
    GainBars bars;
    Reason reason; ///< code "cost", facts fused_us, unfused_us and the bars
};

/// Fuse when even the slow end of the fused estimate beats the fast end of the parts' sum by
/// max(1 %, 0.3 us); keep when the fast end of the fused one does not beat the slow end of the sum.
Decision decideFusion(const TimeEstimate& fused, const std::vector<TimeEstimate>& parts);

const char* nameOf(Verdict verdict);

} // namespace fuselage
