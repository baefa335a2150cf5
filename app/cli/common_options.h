// SPDX-License-Identifier: Apache-2.0
// Options that several subcommands share, declared once.
#pragma once

#include "app/pipeline/bench.h"
#include "app/pipeline/inputs.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fuselage::cli {

/// --precision and --precision-of, as typed.
struct PrecisionTexts {
    std::string all = "fp32";
    std::vector<std::string> of;
};

/// --dim, -p, -I, --no-builtin, --without-rule, --pipeline, --decide, --gain-cache, --precision,
/// --precision-of, --strict, --quiet
struct RewriteOptions {
    std::vector<std::string> dims;
    PrecisionTexts precision;
    std::string decide = "cost";
    app::RuleOptions rules;
    app::FuseOptions fuse;
    bool quiet = false;
};

void addRewriteOptions(CLI::App& app, RewriteOptions& options);

/// --precision and --precision-of, for subcommands without rules.
void addPrecisionOptions(CLI::App& app, PrecisionTexts& texts);

/// Errors "usage.precision", which lists the names, and those of parsePrecisionChoice().
Result<PrecisionChoice> parsePrecision(const PrecisionTexts& texts);

/// --backend
void addBackendOption(CLI::App& app, BackendKind& backend, const std::string& help);

/// --set
void addSetOption(CLI::App& app, app::InputNumbers& numbers);

/// What a run takes.
struct InputOptions {
    uint64_t& seed;
    std::string& folder;
    app::InputNumbers& numbers;
};

/// What anything runs with: --backend, --threads, --seed, --inputs, --set, those of
/// tuning (--timing-cache, --tune, --frozen, --workspace, --no-fallback) and --cache.
void addRunOptions(CLI::App& app, CompileOptions& run, InputOptions inputs);

/// What bench runs with, and every child of batch: the above, --device, --seconds, --no-verify.
void addBenchOptions(CLI::App& app, app::BenchOptions& options);

/// Puts what --dim, --precision and --decide say where the pipeline reads it. Errors "usage.dim",
/// "usage.precision", "usage.decide".
Result<void> finish(RewriteOptions& options);

/// Error "usage.tune" when an option of tuning was given for a backend that has no tactics to
/// choose.
Result<void> checkTuneOptions(const CLI::App& app, BackendKind backend);

/// Error "save.write" when the file could not be written later: asked before work that takes long.
/// An empty path and standard output are fine.
Result<void> checkWritable(const std::string& path);

/// Writes beside and renames; "-.json" and "-.txt" mean standard output. Error "save.write".
Result<void> writeFile(const std::string& path, const std::string& content);

} // namespace fuselage::cli
