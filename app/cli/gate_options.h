// SPDX-License-Identifier: Apache-2.0
// What batch, compare and merge share: --gate, --expect, --baseline and the end of a run; and
// --fail-on of bench.
#pragma once

#include "app/batch/gates/evaluate.h"
#include "app/report/run_report.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fuselage::cli {

struct GateOptions {
    std::string gates, expect; ///< files
    std::string baseline;      ///< folder
    std::string policy = "fail";
    /// "regress", "verify", "expect", none of these: all; and conditions "slower_matches > 0".
    std::vector<std::string> failOn;
    bool exitZero = false;
    bool github = false;
};

/// --gate, --expect, --baseline, --baseline-policy, --fail-on, --exit-zero, --github
void addGateOptions(CLI::App& app, GateOptions& options);

/// What `--fail-on regress` is where no gate compares with a baseline: a mistake, or
/// regressionGates, which a note says.
enum class Regress : uint8_t { NeedsGates, HasDefaults };

/// Gates and expectations of the files. Errors "file.read", "usage.gate".
Result<std::vector<batch::Gate>> loadGates(const GateOptions& options,
                                           Regress regress = Regress::NeedsGates);

/// Says which models and rules gates name that are none of these: perhaps one was renamed.
void noteUnknown(const std::vector<batch::Gate>& gates, const std::vector<std::string>& models,
                 const std::vector<std::string>& rules);

/// Those of the conditions that hold, each as a line: "slower_matches > 0: slower_matches is 2".
/// A condition on what was not measured is one of them. Error "usage.gate".
Result<std::vector<std::string>> brokenConditions(const std::vector<std::string>& conditions,
                                                  const app::Report& report);

/// Before a run without measurements. Error "usage.gate": a condition asks for them.
Result<void> requireMeasured(const GateOptions& options);

using Again = FunctionRef<std::optional<app::Report>(const app::ModelRun& model)>;

/// Judges the run by the baseline folder; with the policy `create` models without a baseline get
/// one. `finished`: of batch::Judging.
Result<void> applyGates(const GateOptions& options, const std::vector<batch::Gate>& gates,
                        Again again, app::RunReport& run, bool finished = false);

/// That of the run's reasons, as far as the options let them count.
int exitCodeOf(const app::RunReport& run, const GateOptions& options);

/// Prints the verdict, what failed and why, also as the host of the job reads it; the exit code.
int printVerdict(const app::RunReport& run, const GateOptions& options);

} // namespace fuselage::cli
