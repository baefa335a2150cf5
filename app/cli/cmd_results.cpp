// SPDX-License-Identifier: Apache-2.0
// fuselage compare A B, merge OUT... -o OUT, baseline update|show|prune: on what batch and bench
// wrote. Files only: nothing is run.
#include "app/batch/baseline.h"
#include "app/batch/compare.h"
#include "app/batch/outputs.h"
#include "app/batch/pairing.h"
#include "app/batch/work_folder.h"
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/gate_options.h"
#include "app/cli/value_checks.h"
#include "app/report/comparison.h"
#include "app/report/csv.h"
#include "app/report/format.h"
#include "app/report/junit.h"
#include "core/support/file.h"
#include "core/support/links.h"
#include "core/support/text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

namespace fuselage::cli {

namespace {

using app::ModelRun;
using app::RunReport;

namespace fs = std::filesystem;

constexpr const char* madeWithTimes =
    "make what is given here with times: `batch --measure on`, or `bench` without --no-measure";
constexpr const char* madeWithChecks = "make what is given here without --no-verify";

constexpr auto nothingRuns = [](const ModelRun&) -> std::optional<app::Report> { return {}; };

/// What compare writes: of the comparison, and of B with its gates.
struct Format {
    const char* ending;
    std::string (*render)(const app::Comparison& comparison, const RunReport& b);
};

constexpr Format formats[] = {
    {".junit.xml", [](const app::Comparison&, const RunReport& b) { return app::renderJUnit(b); }},
    {".gates.csv",
     [](const app::Comparison&, const RunReport& b) { return app::renderGatesCsv(b); }},
    {".md", app::renderComparisonMarkdown},
    {".json", app::renderComparisonJson},
    {".txt", app::renderComparisonText},
};

const Format* formatOf(const std::string& path) {
    auto at = std::find_if(std::begin(formats), std::end(formats),
                           [&](const Format& format) { return path.ends_with(format.ending); });
    return at == std::end(formats) ? nullptr : at;
}

std::string endings() {
    return joined(formats, std::mem_fn(&Format::ending));
}

struct Compare {
    std::string before, now;
    std::vector<std::string> mapped; ///< "A=B"
    std::vector<std::string> reports;
    GateOptions gates;
    bool saysWhatIsLost = false; ///< --lost was given
};

bool isOutput(const std::string& report) {
    return report.starts_with("-.");
}

/// Of two paths, which may not be there.
bool isSameFile(const std::string& a, const std::string& b) {
    std::error_code failed;
    if (fs::equivalent(a, b, failed))
        return true;
    const fs::path one = fs::weakly_canonical(a, failed);
    return !failed && one == fs::weakly_canonical(b, failed) && !failed;
}

/// A report is none of the files that are read: it is removed, and written.
Result<void> checkReports(const Compare& options) {
    std::vector<std::string> read{options.gates.gates, options.gates.expect};
    for (const std::string& run : {options.before, options.now})
        for (std::string& file : batch::filesOfOutputs(run))
            read.push_back(std::move(file));
    for (const std::string& path : options.reports) {
        if (formatOf(path) == nullptr)
            return failure("usage.report", "no report format for `" + path + "`", "--report",
                           "end the name in one of: " + endings());
        if (auto fine = checkWritable(path); !fine)
            return fine;
        if (!isOutput(path) && std::any_of(read.begin(), read.end(), [&](const std::string& file) {
                return !file.empty() && isSameFile(path, file);
            }))
            return failure("usage.output", "the comparison reads this file", path,
                           "give --report another name");
    }
    return {};
}

/// However this comparison ends, an earlier one's report would look like its own.
void removeEarlier(const std::vector<std::string>& reports) {
    std::error_code failed;
    for (const std::string& path : reports)
        if (!isOutput(path) && fs::is_regular_file(path, failed))
            fs::remove(behindLinks(path), failed);
}

/// Gates judge B alone by A: earlier verdicts of B are not this comparison's. What is wrong with B
/// itself is: wrong results, a part that is missing.
void judgeByA(const Compare& options, const std::vector<batch::Gate>& gates, bool byBaseline,
              const batch::Pairs& pairs, const RunReport& a, RunReport& b) {
    auto baseline = [&](const ModelRun& model) -> std::optional<batch::Baseline> {
        auto other = pairs.find(model.id);
        if (other == pairs.end() || !batch::areOfOneKind(*other->second, model))
            return {};
        return batch::Baseline{*other->second->report, {}};
    };
    batch::judge({gates, batch::Policy::Lenient, baseline, nothingRuns, true,
                  "A has nothing to compare it with"},
                 b);
    batch::addLost(a, pairs, byBaseline, options.gates.lost == "fail", b);
    if (b.shards > 1)
        printNotes({fmt::format("B is shard {}/{}: what other shards have is not called lost; "
                                "merge them to compare the whole",
                                b.shard, b.shards)},
                   false);
    batch::Names names = namesOf(gates, {&a, &b});
    // The name that A has of a model which B calls otherwise is none of B's.
    std::erase_if(names.models, [&](const std::string& name) {
        const bool isOfB = std::any_of(b.models.begin(), b.models.end(),
                                       [&](const ModelRun& model) { return model.id == name; });
        return !isOfB && std::any_of(pairs.begin(), pairs.end(),
                                     [&](const auto& pair) { return pair.second->id == name; });
    });
    addUnmatched(options.gates, gates, names, b);
}

int compare(const Compare& options) {
    if (auto fine = checkReports(options); !fine)
        return reportError(fine.error());
    auto gates = loadGates(options.gates, Against::FirstRun);
    auto before = batch::readOutputs(options.before);
    auto now = batch::readOutputs(options.now);
    removeEarlier(options.reports); // nothing is read any more
    if (!gates)
        return reportError(gates.error());
    if (!before)
        return reportError(before.error());
    if (!now)
        return reportError(now.error());
    auto pairs = batch::pairModels(*before, *now, options.mapped);
    if (!pairs)
        return reportError(pairs.error());
    const app::Comparison comparison = batch::compareRuns(*before, *now, *pairs);
    const bool onOutput = std::any_of(options.reports.begin(), options.reports.end(), isOutput);
    if (!onOutput)
        printOut(app::renderComparison(comparison));
    const bool asked = !gates->empty() || !options.gates.failOn.empty() || options.saysWhatIsLost;
    const bool byBaseline = std::any_of(gates->begin(), gates->end(), batch::comparesWithBaseline);
    now->gates.clear();
    now->reasons = asked ? batch::reasonsOfItself(*now) : std::vector<std::string>();
    app::settle(*now);
    if (asked) {
        if (auto some = batch::requirePairs(*before, *now, *pairs, byBaseline); !some)
            return reportError(some.error());
        if (auto judged =
                requireJudged(options.gates.failOn, judgedOf(*now), madeWithTimes, madeWithChecks);
            !judged)
            return reportError(judged.error());
        judgeByA(options, *gates, byBaseline, *pairs, *before, *now);
    }
    for (const std::string& path : options.reports)
        if (auto written = writeFile(path, formatOf(path)->render(comparison, *now)); !written)
            return reportError(written.error());
    if (!asked)
        return ExitOk;
    return onOutput ? exitCodeOf(*now, options.gates) : printVerdict(*now, options.gates);
}

struct Merge {
    std::vector<std::string> folders;
    std::string output;
    GateOptions gates;
};

struct Shards {
    std::vector<std::string> folders;
    std::vector<RunReport> runs; ///< of the folders, by position
};

/// A folder that a shard began and did not end has no results: the shard is one that is missing, as
/// one without a folder is, where the others know of how many there are.
Result<Shards> readShards(const std::vector<std::string>& given) {
    Shards out;
    std::optional<Error> unfinished;
    std::vector<std::string> notes;
    for (const std::string& folder : given) {
        std::error_code failed;
        auto run = batch::readOutputs(folder);
        if (run) {
            out.folders.push_back(folder);
            out.runs.push_back(std::move(*run));
            continue;
        }
        if (!fs::is_directory(fs::path(folder) / "models", failed) ||
            fs::exists(fs::path(folder) / "results.json", failed))
            return failure(run.error());
        unfinished = run.error();
        notes.push_back(folder + " has no results: its run did not end");
    }
    if (unfinished && (out.runs.empty() || out.runs.front().shards == 1))
        return failure(*unfinished);
    printNotes(notes, false);
    return out;
}

/// All that merge reads, before it removes or writes anything.
struct Whole {
    std::vector<batch::Gate> gates;
    Shards shards;
    RunReport run;
};

Result<Whole> readWhole(const Merge& options) {
    auto gates = loadGates(options.gates, Against::Baseline);
    if (!gates)
        return failure(gates.error());
    auto shards = readShards(options.folders);
    if (!shards)
        return failure(shards.error());
    auto run = batch::mergeRuns(shards->runs);
    if (!run)
        return failure(run.error());
    if (auto judged =
            requireJudged(options.gates.failOn, judgedOf(*run), madeWithTimes, madeWithChecks);
        !judged)
        return failure(judged.error());
    return Whole{std::move(*gates), std::move(*shards), std::move(*run)};
}

/// What is merged lies in OUT, as its results.json does: those files are to stay.
bool holdsOneOf(const std::string& output, const std::vector<std::string>& paths) {
    return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
        std::error_code failed;
        fs::path at = fs::weakly_canonical(path, failed);
        while (!failed && !fs::equivalent(at, output, failed) && at.has_relative_path())
            at = at.parent_path();
        return !failed && at.has_relative_path();
    });
}

int merge(const Merge& options) {
    auto whole = readWhole(options);
    // However this one ends, an earlier merge would look like it.
    const bool isThere = batch::isOutputs(options.output);
    if (!whole && !isThere)
        return reportError(whole.error());
    auto lock = batch::lockOutputs(options.output);
    if (!lock)
        return reportError(lock.error());
    if (isThere && !holdsOneOf(options.output, options.folders))
        batch::clearOutputs(options.output);
    if (!whole)
        return reportError(whole.error());
    const std::vector<batch::Gate>& gates = whole->gates;
    const auto& [folders, runs] = whole->shards;
    RunReport& merged = whole->run;
    if (auto judged = applyGates(options.gates, gates, nothingRuns, merged, true); !judged)
        return reportError(judged.error());
    addUnmatched(options.gates, gates, namesOf(gates, {&merged}), merged);
    if (gates.empty() && std::any_of(runs.begin(), runs.end(),
                                     [](const RunReport& run) { return !run.gates.empty(); }))
        printNotes({"what gates said of the shards is left out: give them to merge too"}, false);
    for (size_t i = 0; i < runs.size(); ++i)
        if (auto copied = batch::copyModels(runs[i], folders[i], options.output); !copied)
            return reportError(copied.error());
    if (auto written = batch::writeOutputs(merged, options.output); !written)
        return reportError(written.error());
    return printVerdict(merged, options.gates);
}

struct Base {
    std::string results, baseline, commit;
    size_t keep = batch::baselineWindow;
};

int update(const Base& options) {
    auto run = batch::readOutputs(options.results);
    if (!run)
        return reportError(run.error());
    if (auto updated = batch::updateBaseline(options.baseline, *run, options.commit); !updated)
        return reportError(updated.error());
    size_t taken = 0;
    std::string left;
    for (const ModelRun& model : run->models)
        if (model.ran())
            ++taken;
        else
            left +=
                fmt::format("{}{} ({})", left.empty() ? "" : ", ", model.id, nameOf(model.state));
    printOut(fmt::format("{} of {} models taken over\n", taken, run->models.size()));
    if (!left.empty())
        printNotes({"these have no results, and what was there stays: " + left}, false);
    return ExitOk;
}

int show(const Base& options) {
    using Align = app::TextTable::Align;
    auto entries = batch::listBaselines(options.baseline);
    if (!entries)
        return reportError(entries.error());
    app::TextTable table({Align::Left, Align::Left, Align::Right, Align::Left, Align::Left});
    table.row({"model", "of", "runs", "commit", "machine"});
    for (const batch::BaselineEntry& entry : *entries)
        table.row({entry.key, entry.provenance.kind, std::to_string(entry.provenance.runs),
                   entry.provenance.commit, entry.provenance.machine});
    printOut(table.text(""));
    return ExitOk;
}

int prune(const Base& options) {
    auto gone = batch::pruneBaseline(options.baseline, options.keep);
    if (!gone)
        return reportError(gone.error());
    printOut(fmt::format("{} files removed\n", *gone));
    return ExitOk;
}

} // namespace

Action addCompare(CLI::App& app) {
    auto options = std::make_shared<Compare>();
    app.add_option("a", options->before, "report or folder of a batch: the baseline")->required();
    app.add_option("b", options->now, "report or folder of a batch")->required();
    app.add_option("--map", options->mapped,
                   "A=B: model A of the first is compared with model B of the second; repeatable. "
                   "Equal names are, and one against one");
    app.add_option("--report", options->reports,
                   "write the comparison; format by ending: " + endings() +
                       "; -.json is standard output");
    addGateOptions(app, options->gates, Against::FirstRun);
    const CLI::Option* lost = app.get_option("--lost");
    return [options, lost] {
        options->saysWhatIsLost = lost->count() > 0;
        return compare(*options);
    };
}

Action addMerge(CLI::App& app) {
    auto options = std::make_shared<Merge>();
    app.add_option("folders", options->folders, "folders of all shards")->required();
    app.add_option("-o,--output", options->output, "folder for the whole")->required();
    addGateOptions(app, options->gates, Against::Baseline);
    return [options] { return merge(*options); };
}

Action addBaseline(CLI::App& app) {
    auto options = std::make_shared<Base>();
    app.require_subcommand(1);
    CLI::App* updating = app.add_subcommand("update", "takes over the results of a batch");
    updating->add_option("results", options->results, "folder of a batch")->required();
    updating->add_option("--commit", options->commit,
                         "that the results are of; empty or left out: unknown");
    CLI::App* showing = app.add_subcommand("show", "what is there and where it comes from");
    CLI::App* pruning = app.add_subcommand("prune", "drops old times");
    pruning->add_option("--keep", options->keep, "runs whose times stay")
        ->check(wholeNumber(0, 1'000'000))
        ->capture_default_str();
    for (CLI::App* sub : {updating, showing, pruning})
        sub->add_option("--baseline", options->baseline, "folder of baselines")->required();
    return [options, updating, showing] {
        return updating->parsed()  ? update(*options)
               : showing->parsed() ? show(*options)
                                   : prune(*options);
    };
}

} // namespace fuselage::cli
