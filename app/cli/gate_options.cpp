// SPDX-License-Identifier: Apache-2.0
#include "app/cli/gate_options.h"

#include "app/batch/baseline.h"
#include "app/batch/gates/metric.h"
#include "app/cli/console.h"
#include "app/report/github.h"
#include "app/report/markdown.h"
#include "app/report/run_text.h"
#include "core/support/file.h"
#include "core/support/text.h"
#include "dsl/suggest.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

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
    return text == "regress" || text == "verify" || text == "expect" || text == "unknown";
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
                                       : "`" + text +
                                             "` is none of regress, verify, expect, unknown, and " +
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
    const std::map<std::string, std::string> words{{"gate", "regress"},  {"time", "regress"},
                                                   {"lost", "regress"},  {"verify", "verify"},
                                                   {"expect", "expect"}, {"unknown", "unknown"}};
    auto word = words.find(kind);
    const std::string id = reason.substr(std::min(reason.size(), kind.size() + 1));
    const auto isAsked = [&](const std::string& text) {
        return std::find(failOn.begin(), failOn.end(), text) != failOn.end();
    };
    // A gate may be called as a word is.
    return word == words.end() || isAsked(word->second) || (!isWord(id) && isAsked(id));
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

Failure nothingToFail(const char* word, const char* what, const char* fix) {
    return failure("usage.gate", fmt::format("`{}` has no {} that could fail", word, what),
                   "--fail-on", fix);
}

} // namespace

void addGateOptions(CLI::App& app, GateOptions& options, Against against) {
    app.add_option("--gate", options.gates,
                   "TOML file of limits on metrics: under [gate] a line each, e.g. launches = { "
                   "metric = \"launches\", max_increase = 0 } or time = { metric = \"e2e_us\", "
                   "max = 500 }, in us as the name says");
    app.add_option("--expect", options.expect, "TOML file of exact counts of rules");
    if (against == Against::FirstRun) {
        app.add_option(
               "--lost", options.lost,
               "where gates or --fail-on ask for a verdict, models that ran in A and that B "
               "has not, could not run or made of another precision, device or size: fail "
               "or warn")
            ->check(CLI::IsMember({"fail", "warn"}))
            ->capture_default_str();
    } else {
        app.add_option("--baseline", options.baseline, "folder of earlier results (see baseline)");
        app.add_option("--baseline-policy", options.policy,
                       "for models without one: fail, lenient or create")
            ->check(CLI::IsMember({"fail", "lenient", "create"}))
            ->capture_default_str();
    }
    app.add_option("--fail-on", options.failOn,
                   "what makes the exit code: regress, verify, expect (default: these), unknown "
                   "(names in gates that nothing has, which are warned of else); or a condition "
                   "on a metric, e.g. 'slower_matches > 0', that fails also where the metric was "
                   "not measured")
        ->delimiter(',');
    app.add_flag("--exit-zero", options.exitZero, "exit codes 1, 4, 6 and 7 become 0");
    app.add_flag("--github", options.github,
                 "GitHub Actions: annotations, and the summary of the job");
}

Result<std::vector<batch::Gate>> loadGates(const GateOptions& options, Against against) {
    std::vector<batch::Gate> out;
    if (auto added = addFile(options.gates, batch::parseGates, out); !added)
        return failure(added.error());
    if (auto added = addFile(options.expect, batch::parseExpectations, out); !added)
        return failure(added.error());
    if (auto added = addConditions(options.failOn, out); !added)
        return failure(added.error());
    const bool byBaseline = std::any_of(out.begin(), out.end(), batch::comparesWithBaseline);
    if (contains(options.failOn, "regress") && !byBaseline && against == Against::FirstRun) {
        const auto defaults = batch::regressionGates();
        out.insert(out.end(), defaults.begin(), defaults.end());
        printNotes(
            {"no --gate says what a regression is: " +
             joined(defaults,
                    [](const batch::Gate& gate) { return gate.metric + " " + limitText(gate); })},
            false);
    } else if (contains(options.failOn, "regress") && out.empty()) {
        return nothingToFail(
            "regress", "gate",
            "give limits with --gate, and --baseline for those on what may change");
    }
    if (contains(options.failOn, "expect") && options.expect.empty())
        return nothingToFail("expect", "count of a rule", "give exact counts with --expect");
    if (contains(options.failOn, "unknown") && out.empty())
        return nothingToFail("unknown", "gate", "give limits with --gate, or counts with --expect");
    if (!options.baseline.empty() && options.policy != "create" && !byBaseline)
        return failure("usage.gate", "no gate compares with the baseline", "--baseline",
                       "give limits on what may change with --gate, such as "
                       "`max_increase = 0`; or leave --baseline out");
    return out;
}

Result<std::vector<batch::Gate>> loadConditions(const std::vector<std::string>& failOn) {
    for (const std::string& text : failOn)
        if (isWord(text) && text != "verify")
            return failure("usage.gate",
                           "`" + text + "` needs gates or an earlier run, and bench has neither",
                           "--fail-on",
                           "write a condition, e.g. 'slower_matches > 0'; or write a report and "
                           "give it to `fuselage compare OLD NEW --fail-on regress`");
    std::vector<batch::Gate> out;
    if (auto added = addConditions(failOn, out); !added)
        return failure(added.error());
    return out;
}

Judged judgedOf(const RunReport& run) {
    Judged out{false, false};
    bool any = false;
    for (const ModelRun& model : run.models)
        if (model.report) {
            any = true;
            out.times |= model.report->before.measured || model.report->after.measured;
            out.checks |= !model.report->agreement.empty();
        }
    return any ? out : Judged{}; // what did not run says why
}

Result<void> requireJudged(const std::vector<std::string>& failOn, Judged judged,
                           const std::string& fixTimes, const std::string& fixChecks) {
    std::vector<batch::Gate> conditions;
    if (auto added = addConditions(failOn, conditions); !added)
        return failure(added.error());
    for (const batch::Gate& gate : conditions) {
        if (!judged.times && batch::isTimed(gate.metric))
            return failure("usage.gate",
                           "`" + gate.id + "` asks for times, and nothing is measured", "--fail-on",
                           fixTimes);
        if (!judged.checks && gate.metric == "max_rel")
            return failure("usage.gate",
                           "`" + gate.id +
                               "` asks how far results are from the reference's, and "
                               "nothing is compared with it",
                           "--fail-on", fixChecks);
    }
    if (!judged.checks && contains(failOn, "verify"))
        return failure("usage.gate",
                       "nothing is compared with the reference that `verify` asks for", "--fail-on",
                       fixChecks);
    return {};
}

std::vector<std::string> ruleNames(const std::vector<batch::Gate>& gates,
                                   const app::RuleOptions& rules) {
    std::vector<std::string> out;
    if (std::none_of(gates.begin(), gates.end(),
                     [](const batch::Gate& gate) { return !batch::ruleOf(gate.metric).empty(); }))
        return out;
    if (auto library = app::requireRuleLibrary(rules))
        for (const Rule& rule : library->loaded.rules.rules)
            out.push_back(rule.name);
    return out;
}

batch::Names namesOf(const std::vector<batch::Gate>& gates,
                     const std::vector<const RunReport*>& runs) {
    batch::Names out;
    out.rules = ruleNames(gates, {});
    out.rulesAreAll = false;
    std::set<std::string> models, rules(out.rules.begin(), out.rules.end());
    for (const RunReport* run : runs) {
        out.modelsAreAll &= run->shards == 1 && app::missingShards(*run).empty();
        for (const ModelRun& model : run->models) {
            models.insert(model.id);
            if (model.report) {
                for (const app::RuleReport& rule : model.report->rules)
                    rules.insert(rule.rule);
                for (const app::NearMissReport& miss : model.report->nearMisses)
                    rules.insert(miss.rule);
            }
        }
    }
    out.models.assign(models.begin(), models.end());
    out.rules.assign(rules.begin(), rules.end());
    return out;
}

void noteUnmatched(const std::vector<batch::Gate>& gates, const batch::Names& names) {
    std::vector<std::string> notes;
    for (const GateRow& row : batch::unmatched(gates, names))
        notes.push_back(fmt::format("gate {}: {}{}", row.id,
                                    row.model.empty() ? "" : "`" + row.model + "`: ", row.note));
    printNotes(notes, false);
}

void addUnmatched(const GateOptions& options, const std::vector<batch::Gate>& gates,
                  const batch::Names& names, RunReport& run) {
    batch::addUnmatched(batch::unmatched(gates, names), contains(options.failOn, "unknown"), run);
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
    if (const auto gone = batch::baselinesOfNobody(options.baseline, run);
        !options.baseline.empty() && !gone.empty())
        printNotes({fmt::format("{} has results of {}, and this run has no such model; where "
                                "that is meant, remove its folder",
                                options.baseline, dsl::listed(gone, 8))},
                   false);
    if (options.policy == "create" && !options.baseline.empty())
        return batch::updateBaseline(options.baseline, missing, "");
    return {};
}

std::vector<std::string> brokenConditions(const std::vector<GateRow>& rows) {
    std::vector<std::string> out;
    for (const GateRow& row : rows)
        if (row.verdict == GateRow::Verdict::Skipped)
            printNotes({"`" + row.id + "` cannot be judged: " + row.note +
                        (row.note == batch::tooFewRuns ? "; give more --seconds" : "")},
                       false);
        else if (row.verdict == GateRow::Verdict::Fail)
            out.push_back(row.now.empty()
                              ? fmt::format("{}: {} was not measured", row.id, row.metric)
                              : fmt::format("{}: {} is {}, limit {}", row.id, row.metric, row.now,
                                            row.limit));
    return out;
}

int printVerdict(const RunReport& run, const GateOptions& options) {
    printOut(app::renderVerdict(run));
    const int code = exitCodeOf(run, options);
    if (code == 0 && run.exitCode != 0)
        printOut(fmt::format("  exit code 0 and not {}, as {} says\n", run.exitCode,
                             options.exitZero ? "--exit-zero" : "--fail-on"));
    if (options.github)
        tellGithub(run);
    return code;
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
