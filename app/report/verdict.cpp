// SPDX-License-Identifier: Apache-2.0
#include "app/report/verdict.h"

#include "app/report/format.h"
#include "core/support/fewest_runs.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

std::string sideFallbacks(const char* side, const std::vector<KernelReport>& kernels) {
    size_t count = 0;
    double share = 0;
    bool measured = false, onHost = false;
    for (const KernelReport& kernel : kernels)
        if (kernel.isFallback) {
            ++count;
            onHost = onHost || kernel.tactic == "host";
            share += kernel.share;
            measured = measured || kernel.measuredSeconds;
        }
    if (count == 0)
        return {};
    std::string out = fmt::format("{}: {} of {} steps {} computed by reference code", side, count,
                                  kernels.size(), count == 1 ? "is" : "are");
    if (onHost)
        out += " on the host, between two copies, which breaks the captured graph";
    return measured ? out + fmt::format(", {:.0f} % of its time", share * 100) : out;
}

double loss(const MatchReport& match) {
    return match.measuredAfter.value_or(0) - match.measuredBefore.value_or(0);
}

/// How much longer the steps outside of judged fused nodes take than unfused: the plan also changes
/// how they read and what they are joined with. None where a step was not timed.
std::optional<double> lossOfOthers(const Report& report) {
    double out = 0;
    for (const KernelReport& kernel : report.before.kernels) {
        if (!kernel.measuredSeconds)
            return std::nullopt;
        out -= *kernel.measuredSeconds;
    }
    for (const KernelReport& kernel : report.after.kernels) {
        if (!kernel.measuredSeconds)
            return std::nullopt;
        out += *kernel.measuredSeconds;
    }
    for (const MatchReport& match : report.matches)
        if (match.measuredRatio)
            out -= loss(match);
    return out;
}

} // namespace

std::string fallbackText(const Report& report) {
    const std::string before = sideFallbacks("unfused", report.before.kernels);
    const std::string after = sideFallbacks("fused", report.after.kernels);
    return before + (before.empty() || after.empty() ? "" : "; ") + after;
}

std::string speedUpRefusal(const Report& report) {
    if (!report.ratio || report.hasSpeedUp())
        return {};
    if (!report.agreement.empty() && !report.verified())
        return "no speed-up is given: the numeric check failed";
    if (report.fallbackCount() > 0)
        return "no speed-up is given: " + fallbackText(report);
    return {};
}

std::string predictionText(const Report& report) {
    const MachineReport& machine = report.machine;
    std::string out =
        fmt::format("predictions for {} ({}{}{})", machine.profileTitle, machine.profile,
                    machine.profileOrigin.empty() ? "" : ": ", machine.profileOrigin);
    if (machine.backend == "cpu" && machine.profile != "cpu" && report.ratio)
        out += "; measured times and the speed-up are of this machine, not of that";
    return out;
}

std::string speedUpInterval(const Report& report) {
    const uint32_t rounds = report.after.measured ? report.after.measured->samples : 0;
    const std::string checked = report.agreement.empty() ? ", results not compared" : "";
    if (!hasInterval(report)) // one of one value would claim to be exact
        return (rounds == 1 ? std::string("one run") : fmt::format("{} runs", rounds)) +
               " each, no interval" + checked;
    return fmt::format("95 % interval {:.2f} .. {:.2f}, {} rounds each{}", 1 / report.ratio->high,
                       1 / report.ratio->low, rounds, checked);
}

std::string agreementVerdict(const OutputAgreement& output) {
    if (!output.ok)
        return "FAILED";
    return output.empty ? "empty" : output.tells() ? "ok" : "not compared";
}

std::string AgreementLine::outputs() const {
    if (count == 1)
        return worst.output;
    return fmt::format("{} outputs, {} {}", count, worst.empty ? "the first" : "worst",
                       worst.output);
}

std::string AgreementLine::verdict() const {
    if (worst.empty && worst.ok)
        return count == 1 ? "empty in this run: nothing to compare"
                          : "all of them empty in this run: nothing to compare";
    std::string out = agreementVerdict(worst);
    if (worst.tells())
        out += fmt::format(" (limit {})", limitText(worst));
    return out + (worst.note.empty() ? "" : "; " + worst.note);
}

std::vector<AgreementLine> agreementLines(const std::vector<OutputAgreement>& results) {
    constexpr size_t apart = 3;
    const auto alike = [](const OutputAgreement& a, const OutputAgreement& b) {
        return a.side == b.side && a.ok && b.ok && a.empty == b.empty && a.note == b.note &&
               limitText(a) == limitText(b);
    };
    std::vector<AgreementLine> out;
    std::vector<bool> told(results.size(), false);
    for (size_t first = 0; first < results.size(); ++first) {
        if (told[first])
            continue;
        std::vector<size_t> group{first};
        for (size_t i = first + 1; i < results.size(); ++i)
            if (alike(results[first], results[i]))
                group.push_back(i);
        if (group.size() <= apart) {
            out.push_back({results[first]});
            continue;
        }
        size_t worst = first;
        for (size_t i : group) {
            told[i] = true;
            worst = results[i].maxRelative > results[worst].maxRelative ? i : worst;
        }
        out.push_back({results[worst], group.size()});
    }
    return out;
}

std::string limitText(const OutputAgreement& output) {
    if (!output.compares())
        return "none";
    return output.tells() ? fmt::format("{:.0e}", output.tolerance)
                          : "none: roundings alone turn it over";
}

std::string failedChecks(const Report& report) {
    std::string out;
    for (const OutputAgreement& output : report.agreement)
        if (!output.ok)
            out += fmt::format("{}{} {}: {}", out.empty() ? "" : "; ", output.side, output.output,
                               !output.note.empty()
                                   ? output.note
                                   : fmt::format("relative {:.1e}, the limit is {:.0e}",
                                                 output.maxRelative, output.tolerance));
    return out.empty() ? "nothing was compared" : out;
}

std::vector<const MatchReport*> slowerMatches(const Report& report) {
    std::vector<const MatchReport*> out;
    for (const MatchReport& match : report.matches)
        if (match.slower())
            out.push_back(&match);
    std::stable_sort(out.begin(), out.end(), [](const MatchReport* a, const MatchReport* b) {
        return loss(*a) > loss(*b);
    });
    return out;
}

std::vector<const MatchReport*> costlyMatches(const Report& report) {
    std::vector<const MatchReport*> out;
    for (const MatchReport& match : report.matches)
        if (match.gain.value_or(0) < 0)
            out.push_back(&match);
    std::stable_sort(out.begin(), out.end(), [](const MatchReport* a, const MatchReport* b) {
        return *a->gain < *b->gain;
    });
    return out;
}

std::string slowerText(const Report& report) {
    const auto judged =
        std::count_if(report.matches.begin(), report.matches.end(),
                      [](const MatchReport& match) { return match.measuredRatio.has_value(); });
    const auto unjudged =
        std::count_if(report.matches.begin(), report.matches.end(), [](const MatchReport& match) {
            return !match.measuredRatio && !match.unjudged.empty();
        });
    if (judged + unjudged == 0)
        return {};
    const auto slower = slowerMatches(report);
    double lost = 0;
    for (const MatchReport* match : slower)
        lost += loss(*match);
    std::string out =
        judged == 0 ? fmt::format("whether {} slower than {} nodes one by one could not be judged",
                                  unjudged == 1 ? "the fused node is"
                                                : fmt::format("the {} fused nodes are", unjudged),
                                  unjudged == 1 ? "its" : "their")
                    : fmt::format("{} of {} fused node{} {} slower than {} nodes one by one",
                                  slower.empty() ? "none" : std::to_string(slower.size()), judged,
                                  judged == 1 ? "" : "s", slower.size() > 1 ? "are" : "is",
                                  slower.size() > 1 ? "their" : "its");
    if (judged == 0 && hasTooFewRuns(report))
        out += ": too few runs to tell, a longer measurement does";
    if (!slower.empty())
        out += fmt::format(", by {}{}", secondsText(lost), slower.size() > 1 ? " together" : "");
    if (judged > 0 && unjudged > 0)
        out += fmt::format(" ({} more could not be judged)", unjudged);
    const bool isSlower = report.hasSpeedUp() && hasInterval(report) && report.ratio->low > 1;
    if (const auto others = isSlower ? lossOfOthers(report) : std::nullopt; others && *others > 0)
        out += fmt::format(", {} what is planned beside {} takes {} longer than unfused",
                           slower.empty() ? "but" : "and", judged == 1 ? "it" : "them",
                           secondsText(*others));
    if (report.hasSpeedUp()) // what steps take alone is not all that a model takes
        out += fmt::format("; the whole model runs at {:.2f}x of its unfused speed",
                           1 / report.ratio->ratio);
    return out;
}

std::string measuredText(const std::optional<TimingSummary>& timing) {
    if (!timing)
        return "not measured";
    if (timing->samples < fewestRuns)
        return secondsText(timing->median);
    return fmt::format("{} ({} .. {})", secondsText(timing->median), secondsText(timing->p10),
                       secondsText(timing->p90));
}

bool hasInterval(const Report& report) {
    const auto isFew = [](const std::optional<TimingSummary>& timing) {
        return timing && timing->samples < fewestRuns;
    };
    return report.ratio && !isFew(report.before.measured) && !isFew(report.after.measured);
}

bool hasTooFewRuns(const Report& report) {
    const bool hadNoRoom = report.after.measured && !report.timingNotes.empty();
    const auto isJudged = [](const MatchReport& match) { return match.measuredRatio.has_value(); };
    const auto couldBe = [&](const MatchReport& match) {
        return hadNoRoom || (match.measuredBefore.value_or(0) > 0 && match.measuredAfter);
    };
    return std::none_of(report.matches.begin(), report.matches.end(), isJudged) &&
           std::any_of(report.matches.begin(), report.matches.end(), couldBe);
}

std::string ratioText(const MatchReport& match) {
    if (!match.measuredRatio)
        return match.unjudged.empty() ? "not measured" : "not judged: " + match.unjudged;
    return fmt::format("{:.2f}x ({:.2f} .. {:.2f})", match.measuredRatio->ratio,
                       match.measuredRatio->low, match.measuredRatio->high);
}

} // namespace fuselage::app
