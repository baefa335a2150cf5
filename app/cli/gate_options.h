// SPDX-License-Identifier: Apache-2.0
// What batch, compare and merge share: --gate, --expect, --baseline and the end of a run; and
// --fail-on of bench.
#pragma once

#include "app/batch/gates/evaluate.h"
#include "app/batch/gates/unmatched.h"
#include "app/pipeline/rules.h"
#include "app/report/run_report.h"

#include <optional>
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
    std::string lost = "fail"; ///< of compare: what a model of A does that is not compared
    /// "regress", "verify", "expect", none of these: all; "unknown"; and conditions
    /// "slower_matches > 0".
    std::vector<std::string> failOn;
    bool exitZero = false;
    bool github = false;
};

/// What a run is held against: --baseline, which needs gates that say what may change; or the first
/// of two runs, for which `--fail-on regress` has regressionGates of its own.
enum class Against : uint8_t { Baseline, FirstRun };

/// --gate, --expect, --fail-on, --exit-zero, --github; --baseline and --baseline-policy, or --lost.
void addGateOptions(CLI::App& app, GateOptions& options, Against against);

/// Gates and expectations of the files, and conditions. Errors "file.read", "usage.gate".
Result<std::vector<batch::Gate>> loadGates(const GateOptions& options, Against against);

/// The conditions that --fail-on of bench holds. Error "usage.gate": also of a word that needs
/// something to compare with.
Result<std::vector<batch::Gate>> loadConditions(const std::vector<std::string>& failOn);

/// What there is to judge, or will be.
struct Judged {
    bool times = true;  ///< something is measured
    bool checks = true; ///< something is compared with the reference
};

Judged judgedOf(const app::RunReport& run);

/// Error "usage.gate" where --fail-on asks for times or checks that no model has. `fix` is for
/// what is missing, "times" or "checks".
Result<void> requireJudged(const std::vector<std::string>& failOn, Judged judged,
                           const std::string& fixTimes, const std::string& fixChecks);

/// What gates may name, of runs that are over: their models, the rules that fired in them and
/// those of the library.
batch::Names namesOf(const std::vector<batch::Gate>& gates,
                     const std::vector<const app::RunReport*>& runs);

/// Rules of the library with `rules`; empty where no gate names a rule.
std::vector<std::string> ruleNames(const std::vector<batch::Gate>& gates,
                                   const app::RuleOptions& rules);

/// Says before a run which names of gates nothing has.
void noteUnmatched(const std::vector<batch::Gate>& gates, const batch::Names& names);

/// Rows of those names behind the verdicts; with `--fail-on unknown` they fail.
void addUnmatched(const GateOptions& options, const std::vector<batch::Gate>& gates,
                  const batch::Names& names, app::RunReport& run);

/// Rows of conditions that fail, each as a line: "slower_matches > 0: slower_matches is 2". A
/// condition on what was not measured is one of them; of those that nobody could judge it tells.
std::vector<std::string> brokenConditions(const std::vector<app::GateRow>& rows);

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
