// SPDX-License-Identifier: Apache-2.0
// What a run over many models came to: one Report a model, why others have none, and the gates.
// A single report is a run of one model, so that every format is written once.
#pragma once

#include "app/pipeline/report.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

struct ModelRun {
    enum class State : uint8_t {
        Done,    ///< ran to its end; verification may have failed
        Failed,  ///< an error with a code
        Crashed, ///< a signal ended it
        Timeout,
        Memory,
        NotRun, ///< another shard's, or left out after a failure
    };

    std::string id;   ///< unique in the run, fit for a file name
    std::string file; ///< as it was given
    State state = State::Done;
    std::string code;      ///< of the error, else empty
    std::string message;   ///< one line
    std::string structure; ///< structureHash, empty when it did not run
    double seconds = 0;    ///< wall-clock time
    std::optional<Report> report;

    /// To its end. One that failed may have a report too, of what was planned before it did.
    bool ran() const { return report && state == State::Done; }
};

const char* nameOf(ModelRun::State state); ///< "done", "timeout", ...
bool fromName(const std::string& name, ModelRun::State& state);

/// One gate applied to one model.
struct GateRow {
    enum class Verdict : uint8_t { Pass, Warn, Fail, Ambiguous, Skipped };

    std::string id, model, metric;
    std::string base, now; ///< as text, with unit; empty: not known
    std::string limit;     ///< "+0", "+5 %", ">= 32"
    Verdict verdict = Verdict::Pass;
    std::string note;   ///< why, of all but Pass
    bool timed = false; ///< depends on the machine: belongs to timings
    /// `base` and `now` in the unit that the metric's name ends in; none of a hash.
    std::optional<double> baseValue = {}, nowValue = {};
};

const char* nameOf(GateRow::Verdict verdict); ///< "pass", "fail", ...
bool fromName(const std::string& name, GateRow::Verdict& verdict);

struct RunReport {
    std::vector<ModelRun> models; ///< sorted by id
    /// Sorted by model, then in the order of the gate file; then those of no model of this run.
    std::vector<GateRow> gates;
    int exitCode = 0;
    std::vector<std::string> reasons; ///< "gate:launches", "verify", sorted
    std::string version;              ///< of the program
    size_t shard = 1, shards = 1;     ///< which part of the models this is, 1-based
    std::string config;               ///< hash of the options that results depend on
};

/// The exit code that reasons stand for: the first of 10, 2, 3, 4, 1, 6, 5, 7 that one of them asks
/// for, 0 without reasons. A reason is "kind:name"; kinds are "internal", "usage", "input",
/// "verify", "gate", "time", "expect", "lost" (a model that is not compared), "unknown" (a gate
/// that fits nothing), "limit", "device", "partial".
int exitCodeOf(const std::vector<std::string>& reasons);

/// "shard 2/4": parts of the run that were not there when it was joined.
std::vector<std::string> missingShards(const RunReport& run);

/// Depends on the machine: belongs to timings.
bool isTimed(const std::string& reason);

/// Sorts reasons without doubles and sets the exit code.
void settle(RunReport& run);

/// A hash of the model's structure: operators, attributes, types and wiring without names, equal
/// for files that list their nodes in another order. Sixteen hexadecimal digits.
std::string structureHash(const Report& report);

/// One line for people: "FAILED: 2 of 12 models, 1 gate".
std::string verdictLine(const RunReport& run);

/// The id of a model file: its name without ending, other characters than letters, digits, `_`, `-`
/// and `.` replaced.
std::string modelId(const std::string& path);

/// What a model file may be called by: files are named after ids, so one of a path is none.
bool isModelId(const std::string& id);

/// The run of one model.
RunReport runOf(const Report& report);

/// "passed", "failed" or "not run".
const char* verificationText(const Report& report);

} // namespace fuselage::app
