// SPDX-License-Identifier: Apache-2.0
// The smallest model for which a command still fails in the same way: nodes, outputs, initializers
// and dimensions are left out or made smaller as long as it does. The command is started as a
// program with an argument vector; nothing of a model ever reaches a shell.
#pragma once

#include "core/graph/graph.h"
#include "core/support/function_ref.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::batch {

struct ReduceOptions {
    std::string model, output;        ///< files
    std::vector<std::string> command; ///< a word "{}" stands for the model, else it comes last
    std::optional<int> exitCode;      ///< that counts as failing; none: that of the first run
    std::string text;                 ///< that has to stand in what it prints; empty: anything
    double seconds = 60;              ///< for one run; one that takes longer has failed by that
    size_t maxRuns = 5000;
};

/// How large a model is; each figure shrinks or stays.
struct ReduceSize {
    size_t nodes = 0, inputs = 0, outputs = 0, weights = 0;
    int64_t bytes = 0; ///< of initializers

    std::string text() const;
};

struct ReduceResult {
    ReduceSize before, after;
    size_t runs = 0;
    std::string failure;   ///< "exit code 4", "signal 11", "no end after 60 s"
    bool finished = false; ///< false: cancelled or out of runs; the best so far is written
};

/// A line for each step to a smaller model.
using ReduceLog = FunctionRef<void(const std::string& line)>;

/// Writes the best model so far at every step, as a whole file. Errors: those of loading;
/// "usage.reduce" when the command does not fail on the model, or only in the file's own form.
Result<ReduceResult> reduceModel(const ReduceOptions& options, const ReduceLog& log,
                                 Progress& progress);

} // namespace fuselage::batch
