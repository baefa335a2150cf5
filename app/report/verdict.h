// SPDX-License-Identifier: Apache-2.0
// What measured times say in a sentence: whether there is a speed-up to speak of, and which fused
// nodes lost. One wording for every format.
#pragma once

#include "app/pipeline/report.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// Why no speed-up is given although both sides were timed; empty when one is.
std::string speedUpRefusal(const Report& report);

/// "predictions for NVIDIA H200 (h200: built-in)", and that measured times are not of it where they
/// are this machine's.
std::string predictionText(const Report& report);

/// "95 % interval 1.52 .. 1.67, 21 rounds each"; "one run each, no interval". For a report with a
/// ratio.
std::string speedUpInterval(const Report& report);

/// "unfused: 1 of 9 steps is computed by reference code, 93 % of its time"; empty without
/// fallbacks.
std::string fallbackText(const Report& report);

/// "ok", "FAILED", "empty", or "not compared" where the output has no fixed length or no limit
/// tells.
std::string agreementVerdict(const OutputAgreement& output);

/// Results of one side that agree and differ in their figures only: several outputs in one line.
struct AgreementLine {
    OutputAgreement worst;
    size_t count = 1;

    /// The output; "24 outputs, worst y".
    std::string outputs() const;
    /// "ok (limit 1e-04)", with what the figures do not say.
    std::string verdict() const;
};

/// In the order of the first of each; up to three that are alike stay apart, and what failed does.
std::vector<AgreementLine> agreementLines(const std::vector<OutputAgreement>& results);

/// "1e-04"; "none", and why where roundings alone move the output by its own size.
std::string limitText(const OutputAgreement& output);

/// "fused y: it overflowed: ...; fused z: relative 3.1e-02, the limit is 1e-04"; what failed where
/// nothing was compared.
std::string failedChecks(const Report& report);

/// Fused nodes that lost, the largest loss first.
std::vector<const MatchReport*> slowerMatches(const Report& report);

/// Fused nodes that were predicted to lose time when they were taken, the largest loss first.
std::vector<const MatchReport*> costlyMatches(const Report& report);

/// "2 of 31 fused nodes are slower than their nodes one by one, by 8.30 ms together; the whole
/// model runs at 1.07x of its unfused speed"; "none of ..." when all won, with what other steps
/// lost where the model is slower; empty when no step was timed.
std::string slowerText(const Report& report);

/// "34.2 ms (33.9 .. 34.8)", the median with p10 and p90; the median alone of few runs.
std::string measuredText(const std::optional<TimingSummary>& timing);

/// There is a ratio, and not of so few rounds that its interval says nothing.
bool hasInterval(const Report& report);

/// No fused node could be judged, since steps ran too seldom or the time had no room for them.
bool hasTooFewRuns(const Report& report);

/// "1.31x (1.25 .. 1.38)": the time of a fused node over that of its nodes; why there is none.
std::string ratioText(const MatchReport& match);

} // namespace fuselage::app
