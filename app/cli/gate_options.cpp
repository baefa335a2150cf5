// SPDX-License-Identifier: Apache-2.0
#include "app/cli/gate_options.h"

#include "app/batch/baseline.h"
#include "app/batch/gates/metric.h"
#include "app/cli/console.h"
#include "app/report/escape.h"
#include "app/report/github.h"
#include "app/report/markdown.h"
#include "app/report/verdict.h"
#include "core/support/file.h"
#include "core/support/text.h"
#include "dsl/suggest.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>

namespace fuselage::cli {

namespace {

using app::GateRow;
using app::ModelRun;
using app::RunReport;

using Parse = Result<std::vector<batch::Gate>> (*)(const std::string&, const std::string&);

Result<void> addFile(const std::string& path, Parse parse, std::vector<batch::Gate>& gates) {
    if (path.empty())
        return {};
    auto text = readFile(path);
    if (!text)
        return failure(text.error());
    auto parsed = parse(*text, path);
    if (!parsed)
        return failure(parsed.error());
    gates.insert(gates.end(), parsed->begin(), parsed->end());
    return {};
}

/// "regress", and not "slower_matches > 0".
bool isWord(const std::string& text) {
    return text == "regress" || text == "verify" || text == "expect";
}

/// What --fail-on holds besides its words.
Result<void> addConditions(const std::vector<std::string>& texts, std::vector<batch::Gate>& gates) {
    for (const std::string& text : texts) {
        if (isWord(text))
            continue;
        auto gate = batch::parseCondition(text);
        const bool isCondition = text.find_first_of("<>") != std::string::npos;
        if (!gate)
            return failure("usage.gate",
                           isCondition ? "`" + text + "`: " + gate.error().message
                                       : "`" + text + "` is none of regress, verify, expect, and " +
                                             gate.error().message,
                           "--fail-on", gate.error().fix);
        gates.push_back(std::move(*gate));
    }
    return {};
}

batch::Policy policyOf(const std::string& name) {
    return name == "fail"      ? batch::Policy::Fail
           : name == "lenient" ? batch::Policy::Lenient
                               : batch::Policy::Create;
}

/// Reasons that the words of --fail-on leave out do not count; what broke always does, and so do
/// conditions.
bool counts(const std::string& reason, const std::vector<std::string>& failOn) {
    if (std::none_of(failOn.begin(), failOn.end(), isWord))
        return true;
    const std::string kind = reason.substr(0, reason.find(':'));
    const std::map<std::string, std::string> words{
        {"gate", "regress"}, {"time", "regress"}, {"verify", "verify"}, {"expect", "expect"}};
    auto word = words.find(kind);
    const std::string id = reason.substr(std::min(reason.size(), kind.size() + 1));
    return word == words.end() || std::find(failOn.begin(), failOn.end(), id) != failOn.end() ||
           std::find(failOn.begin(), failOn.end(), word->second) != failOn.end();
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// Annotations on standard output; the summary goes to the file that the host names.
void tellGithub(const RunReport& run) {
    printOut(app::renderAnnotations(run));
    const char* file = std::getenv("GITHUB_STEP_SUMMARY");
    if (file == nullptr || *file == '\0')
        return;
    // Other steps write there too: it is added to, never replaced.
    std::ofstream out(file, std::ios::binary | std::ios::app);
    out << app::renderMarkdown(run, app::githubSummaryLimit);
    if (!out.flush())
        fmt::print(stderr, "fuselage: {}: the summary cannot be written\n", file);
}

/// "skipped time: e2e_us of 3 models (not measured here)": a gate that could not fail is not one
/// that held.
std::vector<std::string> skippedLines(const std::vector<GateRow>& gates) {
    std::map<std::array<std::string, 3>, std::vector<std::string>> models;
    for (const GateRow& gate : gates)
        if (gate.verdict == GateRow::Verdict::Skipped)
            models[{gate.id, gate.metric, gate.note}].push_back(gate.model);
    std::vector<std::string> out;
    out.reserve(models.size());
    for (const auto& [row, names] : models)
        out.push_back(fmt::format(
            "skipped {}: {} of {} ({})", row[0], row[1],
            names.size() == 1 ? names[0] : fmt::format("{} models", names.size()), row[2]));
    return out;
}

} // namespace

void addGateOptions(CLI::App& app, GateOptions& options) {
    app.add_option("--gate", options.gates,
                   "TOML file of limits on metrics: under [gate] a line each, e.g. launches = { "
                   "metric = \"launches\", max_increase = 0 } or time = { metric = \"e2e_us\", "
                   "max = 500 }, in us as the name says");
    app.add_option("--expect", options.expect, "TOML file of exact counts of rules");
    app.add_option("--baseline", options.baseline, "folder of earlier results (see baseline)");
    app.add_option("--baseline-policy", options.policy,
                   "for models without one: fail, lenient or create")
        ->check(CLI::IsMember({"fail", "lenient", "create"}))
        ->capture_default_str();
    app.add_option("--fail-on", options.failOn,
                   "what makes the exit code: regress, verify, expect (default: all); or a "
                   "condition on a metric, e.g. 'slower_matches > 0'")
        ->delimiter(',');
    app.add_flag("--exit-zero", options.exitZero, "exit codes 1, 4, 6 and 7 become 0");
    app.add_flag("--github", options.github,
                 "GitHub Actions: annotations, and the summary of the job");
}

Result<std::vector<batch::Gate>> loadGates(const GateOptions& options, Regress regress) {
    std::vector<batch::Gate> out;
    if (auto added = addFile(options.gates, batch::parseGates, out); !added)
        return failure(added.error());
    if (auto added = addFile(options.expect, batch::parseExpectations, out); !added)
        return failure(added.error());
    if (auto added = addConditions(options.failOn, out); !added)
        return failure(added.error());
    const bool byBaseline = std::any_of(out.begin(), out.end(), batch::comparesWithBaseline);
    if (contains(options.failOn, "regress") && !byBaseline && regress == Regress::HasDefaults) {
        const auto defaults = batch::regressionGates();
        out.insert(out.end(), defaults.begin(), defaults.end());
        printNotes(
            {"no --gate says what a regression is: " +
             joined(defaults,
                    [](const batch::Gate& gate) { return gate.metric + " " + limitText(gate); })},
            false);
    } else if (contains(options.failOn, "regress") && out.empty()) {
        return failure("usage.gate", "`regress` has no gate that could fail", "--fail-on",
                       "give limits with --gate, and --baseline for those on what may change");
    }
    if (!options.baseline.empty() && options.policy != "create" && !byBaseline)
        return failure("usage.gate", "no gate compares with the baseline", "--baseline",
                       "give limits on what may change with --gate, such as "
                       "`max_increase = 0`; or leave --baseline out");
    return out;
}

void noteUnknown(const std::vector<batch::Gate>& gates, const std::vector<std::string>& models,
                 const std::vector<std::string>& rules) {
    constexpr std::string_view ofRule = "matches.";
    std::vector<std::string> otherModels, otherRules;
    const auto note = [](const std::string& name, const std::vector<std::string>& known,
                         std::vector<std::string>& unknown) {
        if (!contains(known, name) && !contains(unknown, name))
            unknown.push_back(name);
    };
    for (const batch::Gate& gate : gates) {
        for (const std::string& model : gate.models)
            note(model, models, otherModels);
        if (gate.metric.starts_with(ofRule))
            note(gate.metric.substr(ofRule.size()), rules, otherRules);
    }
    std::vector<std::string> notes;
    if (!otherModels.empty())
        notes.push_back(fmt::format("gates ask about {}, which this run has no model of; it has {}",
                                    dsl::listed(otherModels), dsl::listed(models)));
    if (!otherRules.empty())
        notes.push_back(fmt::format("gates count matches of {}: no rule is called so",
                                    dsl::listed(otherRules)));
    printNotes(notes, false);
}

Result<void> requireMeasured(const GateOptions& options) {
    std::vector<batch::Gate> conditions;
    if (auto added = addConditions(options.failOn, conditions); !added)
        return failure(added.error());
    for (const batch::Gate& gate : conditions)
        if (batch::isTimed(gate.metric))
            return failure("usage.gate",
                           "`" + gate.id + "` asks for times, and nothing is measured", "--fail-on",
                           "add --measure on");
    return {};
}

Result<void> applyGates(const GateOptions& options, const std::vector<batch::Gate>& gates,
                        Again again, RunReport& run, bool finished) {
    std::optional<Error> problem;
    RunReport missing;
    missing.version = run.version;
    auto baseline = [&](const ModelRun& model) -> std::optional<batch::Baseline> {
        if (options.baseline.empty())
            return {};
        auto found = batch::findBaseline(options.baseline, model);
        if (!found) {
            problem = found.error();
            return {};
        }
        if (!*found || (*found)->isOfOtherStructure)
            missing.models.push_back(model);
        return std::move(*found);
    };
    batch::judge({gates, policyOf(options.policy), baseline, again, finished}, run);
    if (problem)
        return failure(*problem);
    for (const ModelRun& model : missing.models)
        if (const auto kinds = batch::kindsOf(options.baseline, model.id);
            !kinds.empty() && !contains(kinds, batch::kindOf(*model.report)))
            printNotes({fmt::format("{} is of {}; its baselines are of {}", model.id,
                                    batch::kindOf(*model.report), fmt::join(kinds, "; of "))},
                       false);
    if (options.policy == "create" && !options.baseline.empty())
        return batch::updateBaseline(options.baseline, missing, "");
    return {};
}

Result<std::vector<std::string>> brokenConditions(const std::vector<std::string>& conditions,
                                                  const app::Report& report) {
    std::vector<batch::Gate> gates;
    if (auto added = addConditions(conditions, gates); !added)
        return failure(added.error());
    std::vector<std::string> out;
    for (const batch::Gate& gate : gates) {
        const auto value = batch::metricOf(report, gate.metric);
        // The fused nodes that could be judged are none, which no verdict may be made of.
        if (!value && gate.metric == "slower_matches" && app::hasTooFewRuns(report))
            printNotes({"`" + gate.id + "` cannot be judged: " +
                        batch::whyMissing(report, gate.metric) + "; give more --seconds"},
                       false);
        else if (!value && batch::isMeasured(gate.metric))
            out.push_back(fmt::format("{}: {} was not measured", gate.id, gate.metric));
        if (value &&
            ((gate.max && value->value > *gate.max) || (gate.min && value->value < *gate.min)))
            out.push_back(fmt::format("{}: {} is {}, limit {}", gate.id, gate.metric, text(*value),
                                      limitText(gate)));
    }
    return out;
}

int printVerdict(const RunReport& run, const GateOptions& options) {
    std::string out = verdictLine(run) + "\n";
    const auto addLine = [&](const std::string& text) { // names in it are no lines of their own
        out += "  " + app::visible(text) + "\n";
    };
    for (const GateRow& gate : run.gates)
        if (gate.verdict != GateRow::Verdict::Pass && gate.verdict != GateRow::Verdict::Skipped)
            addLine(fmt::format("{} {}: {}{} is {}, limit {}{}", nameOf(gate.verdict), gate.model,
                                gate.metric, gate.base.empty() ? "" : " was " + gate.base + ",",
                                gate.now.empty() ? "unknown" : gate.now, gate.limit,
                                gate.note.empty() ? "" : " (" + gate.note + ")"));
    for (const std::string& line : skippedLines(run.gates))
        addLine(line);
    for (const ModelRun& model : run.models)
        if (model.state != ModelRun::State::Done)
            addLine(fmt::format("{} {}: {}", nameOf(model.state), model.id, model.message));
    printOut(out);
    if (options.github)
        tellGithub(run);
    return exitCodeOf(run, options);
}

int exitCodeOf(const RunReport& run, const GateOptions& options) {
    std::vector<std::string> reasons;
    for (const std::string& reason : run.reasons)
        if (counts(reason, options.failOn))
            reasons.push_back(reason);
    const int code = app::exitCodeOf(reasons);
    const bool excused = code == 1 || code == 4 || code == 6 || code == 7;
    return options.exitZero && excused ? 0 : code;
}

} // namespace fuselage::cli
