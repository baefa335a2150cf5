// SPDX-License-Identifier: Apache-2.0
// fuselage cache show|merge|diff|prune FILE...: timing caches as a person handles them.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/report/format.h"
#include "gpu/tune/cache_edit.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>

namespace fuselage::cli {

namespace {

using gpu::CacheDifference;
using gpu::CandidateRecord;
using gpu::TimingCache;

struct Options {
    std::vector<std::string> files;
    std::string output, device;
    bool all = false, everyEmitter = false;
};

/// A cache that must be there; lines that were skipped are named on standard error.
Result<TimingCache> open(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return failure("cache.read", "there is no such file", path);
    auto loaded = gpu::loadTimingCache(path);
    if (!loaded)
        return failure(loaded.error());
    for (const gpu::CacheProblem& problem : loaded->problems)
        fmt::print(stderr, "fuselage: {}:{}: {}; the line is skipped\n", path, problem.line,
                   problem.message);
    return std::move(loaded->cache);
}

std::string timeText(const CandidateRecord& record) {
    return record.rounds == 0 ? "-" : fmt::format("{:.3f} us", record.median);
}

std::string remarks(const CandidateRecord& record) {
    if (!record.refused.empty())
        return fmt::format("refused ({}): {}", record.refused, record.why);
    std::string out = fmt::format("{} rounds, spread {:.3f} us", record.rounds, record.spread);
    if (record.workspace != 0)
        out += ", workspace " + app::bytesText(record.workspace);
    if (record.registers != 0)
        out += fmt::format(", {} registers", record.registers);
    for (const auto& [holds, words] : {std::pair(record.eliminated, ", given up early"),
                                       std::pair(record.fallback, ", last resort"),
                                       std::pair(!record.deterministic, ", not deterministic")})
        out += holds ? words : "";
    return record.notes.empty() ? out : out + ", " + record.notes;
}

/// Every candidate of every key, chosen ones first and marked.
std::string details(const TimingCache& cache) {
    using Align = app::TextTable::Align;
    std::string out;
    for (const auto& [key, entry] : cache.entries()) {
        out += fmt::format("{}\n  {}\n  {}\n  {}\n", key.step, key.device, key.software, key.hash);
        app::TextTable table({Align::Left, Align::Left, Align::Right, Align::Left});
        const CandidateRecord* chosen = gpu::chosenOf(entry);
        for (const CandidateRecord& record : entry)
            table.row(
                {&record == chosen ? "*" : "", record.name, timeText(record), remarks(record)});
        out += table.text("  ");
    }
    return out;
}

std::string overview(const TimingCache& cache) {
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Right, Align::Right, Align::Left});
    for (const auto& [key, entry] : cache.entries()) {
        const CandidateRecord* chosen = gpu::chosenOf(entry);
        table.row({chosen ? chosen->name : "every tactic refused", chosen ? timeText(*chosen) : "-",
                   fmt::format("of {}", entry.size()), key.step});
    }
    return fmt::format("{} keys\n", cache.entries().size()) + table.text("");
}

int show(const Options& options) {
    for (const std::string& file : options.files) {
        auto cache = open(file);
        if (!cache)
            return reportError(cache.error());
        printOut(options.all ? details(*cache) : overview(*cache));
    }
    return ExitOk;
}

int merge(const Options& options) {
    TimingCache all;
    for (const std::string& file : options.files) {
        auto cache = open(file);
        if (!cache)
            return reportError(cache.error());
        all.merge(*cache);
    }
    if (auto saved = gpu::saveTimingCache(all, options.output); !saved)
        return reportError(saved.error());
    printOut(fmt::format("{} keys of {} files in {}\n", all.entries().size(), options.files.size(),
                         options.output));
    return ExitOk;
}

int diff(const Options& options) {
    auto before = open(options.files[0]);
    if (!before)
        return reportError(before.error());
    auto after = open(options.files[1]);
    if (!after)
        return reportError(after.error());
    constexpr const char* kinds[] = {"added", "removed", "choice", "time"};
    const auto differences = gpu::compareCaches(*before, *after);
    std::string out;
    for (const CacheDifference& at : differences) {
        out += fmt::format("{}: {} [{}]\n", kinds[static_cast<size_t>(at.kind)], at.key.step,
                           at.key.hash);
        for (const auto& [sign, side] : {std::pair("-", at.before), std::pair("+", at.after)})
            out += side.empty() ? "" : fmt::format("  {} {}\n", sign, side);
    }
    printOut(out + fmt::format("{} of {} keys differ\n", differences.size(),
                               std::max(before->entries().size(), after->entries().size())));
    return differences.empty() ? ExitOk : ExitGate;
}

int prune(const Options& options) {
    gpu::PruneRules rules;
    rules.device = options.device;
    if (!options.everyEmitter)
        rules.emitter = gpu::emitterVersion();
    for (const std::string& file : options.files) {
        auto cache = open(file);
        if (!cache)
            return reportError(cache.error());
        const size_t gone = gpu::pruneCache(*cache, rules);
        if (auto saved = gpu::replaceTimingCache(*cache, file); !saved)
            return reportError(saved.error());
        printOut(
            fmt::format("{}: {} keys removed, {} kept\n", file, gone, cache->entries().size()));
    }
    return ExitOk;
}

} // namespace

Action addCache(CLI::App& app) {
    auto options = std::make_shared<Options>();
    auto chosen = std::make_shared<Action>();
    app.require_subcommand(1);
    struct Row {
        const char *name, *help;
        int (*run)(const Options&);
        int least, most;
    };
    constexpr int any = 1 << 20;
    for (const Row& row :
         {Row{"show", "the choice for each key", show, 1, any},
          Row{"merge", "several caches into one", merge, 1, any},
          Row{"diff", "keys for which two caches choose or measure otherwise", diff, 2, 2},
          Row{"prune", "drop keys that this program no longer asks for", prune, 1, any}}) {
        CLI::App* sub = app.add_subcommand(row.name, row.help);
        sub->add_option("files", options->files, "timing caches")
            ->required()
            ->expected(row.least, row.most);
        sub->callback([chosen, options, run = row.run] {
            *chosen = [options, run] { return run(*options); };
        });
    }
    app.get_subcommand("show")->add_flag("--all", options->all, "every candidate of every key");
    app.get_subcommand("merge")
        ->add_option("-o,--output", options->output, "what the files are merged into")
        ->required();
    CLI::App* pruning = app.get_subcommand("prune");
    pruning->add_option("--device", options->device, "keep only devices with this in their name");
    pruning->add_flag("--any-emitter", options->everyEmitter,
                      "keep keys of other versions of the kernels, too");
    return [chosen] { return (*chosen)(); };
}

} // namespace fuselage::cli
