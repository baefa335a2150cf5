// SPDX-License-Identifier: Apache-2.0
// Does a fusion pay? Compares the predicted time of one fused program with that of the programs it
// replaces and explains the difference. Measures nothing itself.
#pragma once

#include "core/cost/cost.h"
#include "core/support/reason.h"

#include <optional>
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
    double error = 0; ///< of their difference: below it Fuse cannot be said
    GainBars bars;
    Reason reason; ///< code "cost", facts fused_us, unfused_us and the bars
};

/// Least shares of the time at hand that a choice of the planner must save. All prices are of one
/// model, whose errors the two sides of a choice mostly share: what is left is below these.
namespace least_share {
constexpr double any = 0;       ///< a match: what its kernels save is all that changes
constexpr double cut = 0.05;    ///< a fused node in parts
constexpr double again = 0.05;  ///< work that several readers do themselves, of its own time
constexpr double rows = 0.25;   ///< a row in the products that read it, of its own time: a launch
constexpr double joined = 0.05; ///< products of one operand in one
constexpr double chain = 0.05;  ///< a product and the one that multiplies what it made in one
constexpr double order = 0.02;  ///< another order of memory, of the steps that it changes
constexpr double name = 0.02;   ///< what is computed under another name: not to be given it
constexpr double sweep = 0.03;  ///< steps for some images at a time, of their bytes and launches
} // namespace least_share

/// What there is and what is offered in its place.
struct PricedChange {
    double before = 0, after = 0; ///< seconds, predicted
    double error = 0;             ///< of their difference; 0: both are off by the same
    double bytesSaved = 0;        ///< logical
};

/// Whether a change is taken: it saves more than `leastShare` of `of` (by default what there is),
/// and where the difference is within the error it moves no more bytes.
bool preferred(const PricedChange& change, double leastShare, std::optional<double> of = {});

/// Fuse when even the slow end of the fused estimate beats the fast end of the parts' sum by
/// max(1 %, 0.3 us); keep when the fast end of the fused one does not beat the slow end of the sum.
Decision decideFusion(const TimeEstimate& fused, const std::vector<TimeEstimate>& parts);

/// Of the parts into the fused program, for preferred().
PricedChange changeOf(const Decision& decision, double bytesSaved);

const char* nameOf(Verdict verdict);

} // namespace fuselage
