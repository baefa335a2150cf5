// SPDX-License-Identifier: Apache-2.0
#include "app/cli/common_options.h"

#include "app/cli/console.h"
#include "app/cli/import_path.h"
#include "app/cli/restart.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/backends.h"
#include "app/pipeline/compiled.h"
#include "core/support/file.h"
#include "core/support/text.h"
#include "core/support/wildcard.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace fuselage::cli {

namespace {

/// Empty, or what is wrong with a name for --without.
std::string knownFamily(const std::string& name) {
    const std::vector<std::string> families = app::tacticFamilies();
    const bool known =
        std::any_of(families.begin(), families.end(),
                    [&](const std::string& family) { return fitsWildcard(name, family); });
    return known ? std::string()
                 : fmt::format("no kernel `{}`, one of: {}", name, joined(families));
}

/// --timing-cache, --tune, --frozen, --without, --workspace, --no-fallback
void addTuneOptions(CLI::App& app, gpu::TuneOptions& options) {
    options.startAgain = startAgain;
    options.starts = restartsSoFar();
    app.add_option("--timing-cache", options.timingCache,
                   "file that keeps what was measured of each kernel, for later processes (cuda: "
                   "see cache)");
    app.add_flag(
        "--tune", options.tune,
        "measure first what else may be fast (bench does, unless --no-measure); cpu: ways to "
        "compute that are predicted to be about as fast; cuda: every kernel on offer");
    app.add_flag("--frozen", options.frozen,
                 "cuda: measure nothing; what the timing cache lacks is an error");
    app.add_option("--without", options.without,
                   "cuda: kernels to leave out, with commas between: names of variants, cudnn, "
                   "cublaslt; early_launch: kernels that start before the one in front has ended; "
                   "`*` stands for anything: 'tma_*,wgmma_*'")
        ->delimiter(',')
        ->check(CLI::Validator(knownFamily, ""))
        ->type_name("NAMES");
    app.add_option("--workspace", options.workspaceLimit,
                   "cuda: memory that one kernel may ask for, e.g. 64MiB")
        ->transform(CLI::Validator(size(0), ""))
        ->type_name("SIZE")
        ->default_str("256MiB");
    app.add_flag_callback(
        "--no-fallback", [&options] { options.fallback = false; },
        "cuda: a step that only a last resort computes is an error");
}

/// Of "NAME=NUMBER".
std::optional<app::InputNumber> numberBehindEquals(const std::string& entry) {
    const size_t equals = entry.rfind('=');
    if (equals == std::string::npos || equals == 0)
        return std::nullopt;
    return app::inputNumber(std::string_view(entry).substr(equals + 1));
}

} // namespace

void addRewriteOptions(CLI::App& app, RewriteOptions& options) {
    app.add_option("--dim", options.dims,
                   "size of an open dimension, N=4, or of an axis, x.2=320; N?=4 where the model "
                   "has one; repeatable");
    app.add_option("-p,--patterns", options.rules.paths,
                   ".fuse file or folder of them; repeatable, after the built-in library");
    addImportPath(app, options.rules.importPath, "the folders of -p");
    app.add_flag_callback(
        "--no-builtin", [&options] { options.rules.builtin = false; },
        "only the rules given with -p");
    app.add_option("--without-rule", options.rules.without,
                   "name of a rule to leave out; repeatable")
        ->type_name("NAME");
    app.add_option("--pipeline", options.fuse.pipeline, "pipeline of the rule files to run")
        ->capture_default_str();
    app.add_option("--decide", options.decide,
                   "cost: matches that are predicted to save time; measure: as cost, and where the "
                   "prediction cannot tell, both forms are timed here; rules: every legal match "
                   "that the gate of its rule admits")
        ->capture_default_str();
    app.add_option("--search-steps", options.fuse.searchSteps,
                   "steps that the search for one match of a rule may take from one node; what it "
                   "cuts off is reported")
        ->capture_default_str()
        ->check(CLI::Range(1U, 100'000'000U));
    app.add_option("--rule-steps", options.fuse.ruleSteps,
                   "steps that all searches of one rule in one graph may take together; what they "
                   "leave out is reported")
        ->capture_default_str()
        ->check(CLI::Range(1.0, 1e15));
    app.add_option("--gain-cache", options.fuse.measuring.file,
                   "file that keeps what --decide measure found, one match a line");
    addPrecisionOptions(app, options.precision);
    app.add_flag("--strict", options.fuse.strict,
                 "bit-exact with the unfused run: round at every inner edge");
    app.add_flag("-q,--quiet", options.quiet, "no progress, no notes about the model");
}

void addImportPath(CLI::App& app, std::vector<std::string>& folders, const std::string& before) {
    app.add_option("-I,--import-path", folders,
                   "folder where imports of .fuse files are looked up; repeatable, after " +
                       before);
}

void addPrecisionOptions(CLI::App& app, PrecisionTexts& texts) {
    app.add_option("--precision", texts.all,
                   "fp32, tf32, fp16 or bf16: what float32 values are stored as")
        ->capture_default_str();
    app.add_option(
        "--precision-of", texts.of,
        "NODES=fp32, or =fp16 in a float32 model: the precision of single nodes. NODES is "
        "a name (`*` stands for anything), op:Softmax, 'op:Conv group>1' or rule:LayerNorm; "
        "@FILE has one "
        "a line; repeatable, the last one that names a node counts");
}

Result<PrecisionChoice> parsePrecision(const PrecisionTexts& texts) {
    if (auto precision = precisionFromName(texts.all))
        return parsePrecisionChoice(*precision, texts.of);
    return failure("usage.precision", "no precision `" + texts.all + "`", "--precision",
                   "one of: fp32, tf32, fp16, bf16");
}

Result<void> checkTuneOptions(const CLI::App& app, BackendKind backend) {
    struct Word {
        const char* name;
        bool cpu, cuda;
    };
    for (const Word& word :
         {Word{"--timing-cache", true, true}, Word{"--tune", true, true},
          Word{"--frozen", false, true}, Word{"--without", false, true},
          Word{"--workspace", false, true}, Word{"--no-fallback", false, true}}) {
        const bool heard = backend == BackendKind::Cpu    ? word.cpu
                           : backend == BackendKind::Cuda ? word.cuda
                                                          : backend == BackendKind::Auto;
        if (app.count(word.name) != 0 && !heard)
            return failure(
                "usage.tune",
                fmt::format("`{}` says nothing to the {} backend", word.name, nameOf(backend)), "",
                std::string("leave it out, or write --backend ") + (word.cuda ? "cuda" : "cpu"));
    }
    return {};
}

void addBackendOption(CLI::App& app, BackendKind& backend, const std::string& help) {
    app.add_option_function<std::string>(
           "--backend", [&backend](const std::string& name) { backend = *backendFromName(name); },
           help)
        ->check([](const std::string& name) {
            return backendFromName(name) ? std::string()
                                         : "no backend `" + name + "`, one of: " + backendNames();
        })
        ->default_str(nameOf(backend));
}

void addSetOption(CLI::App& app, app::InputNumbers& numbers) {
    app.add_option_function<std::vector<std::string>>(
           "--set",
           [&numbers](const std::vector<std::string>& entries) {
               for (const std::string& entry : entries)
                   numbers[entry.substr(0, entry.rfind('='))] = *numberBehindEquals(entry);
           },
           "what every element of an input is instead of generated numbers, NAME=NUMBER; "
           "repeatable")
        ->check([](const std::string& entry) {
            return numberBehindEquals(entry)
                       ? std::string()
                       : "`" + entry + "` is not NAME=NUMBER, e.g. rate=16000";
        });
}

void addRunOptions(CLI::App& app, CompileOptions& run, InputOptions inputs) {
    addBackendOption(app, run.backend, backendNames());
    app.add_option("--threads", run.threads, "0: all of this machine")
        ->check(threadCount())
        ->capture_default_str();
    app.add_option("--seed", inputs.seed, "of generated inputs")
        ->check(seedNumber())
        ->capture_default_str();
    app.add_option("--inputs", inputs.folder,
                   "folder of input_N.pb, input_N.npy or NAME.npy instead of generated ones");
    addSetOption(app, inputs.numbers);
    addTuneOptions(app, run.tune);
    app.add_option("--cache", run.cache,
                   "cuda: folder of compiled kernels; none: keep nothing (default: the person's "
                   "cache folder)");
}

void addBenchOptions(CLI::App& app, app::BenchOptions& options) {
    addRunOptions(app, options.run, {options.seed, options.inputs, options.numbers});
    app.add_option("--device", options.device, "predict for this device profile (see devices)")
        ->check([](const std::string& name) { // of a variable that nobody set, say
            return name.empty() ? "no device is named; without the option it is this machine"
                                : std::string();
        });
    app.add_option("--seconds", options.timing.seconds, "time to measure for")
        ->check(seconds(mostSeconds, true))
        ->capture_default_str();
    app.add_flag_callback(
        "--no-verify", [&options] { options.verify = false; }, "do not compare with the reference");
    app.add_option("--verify-seconds", options.verifySeconds,
                   "stop comparing with the reference after so long, and say so; 0: as long as it "
                   "takes, whatever --seconds says")
        ->check(seconds(mostSeconds, true))
        ->capture_default_str();
}

Result<void> finish(RewriteOptions& options) {
    auto dims = parseDims(options.dims);
    if (!dims)
        return failure(dims.error());
    auto precision = parsePrecision(options.precision);
    if (!precision)
        return failure(precision.error());
    auto decide = decideFromName(options.decide);
    if (!decide)
        return failure("usage.decide", "no way to decide `" + options.decide + "`", "--decide",
                       "one of: rules, cost, measure");
    const std::string& kept = options.fuse.measuring.file;
    if (!kept.empty() && *decide != Decide::Measure)
        return failure("usage.decide", "only `--decide measure` keeps what it found",
                       "--gain-cache", "add --decide measure, or leave it out");
    if (auto writable = checkWritable(kept); !writable)
        return failure(writable.error());
    options.fuse.dims = *dims;
    options.fuse.precision = precision->precision;
    options.fuse.precisionOf = std::move(precision->except);
    options.fuse.decide = *decide;
    return {};
}

Result<void> checkWritable(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (path.empty() || path.rfind("-.", 0) == 0)
        return {};
    if (fs::is_directory(path, error))
        return failure("save.write", "this is a folder", path, "give the name of a file");
    return fuselage::checkWritable(path);
}

Result<void> writeFile(const std::string& path, const std::string& content) {
    if (path.rfind("-.", 0) == 0) {
        writeOut(content);
        return {};
    }
    return fuselage::writeFile(content, path);
}

} // namespace fuselage::cli
