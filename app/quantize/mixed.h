// SPDX-License-Identifier: Apache-2.0
// Which nodes stay in float so that the outputs keep to a limit: each node's pairs are tried alone,
// and those that cost most accuracy for the least work are left out, as few as the limit allows.
#pragma once

#include "app/quantize/insert.h"
#include "app/quantize/output_error.h"

#include <functional>

namespace fuselage::quantize {

/// The pairs that one node reads: one factor of a product alone opens no integer kernel, so they
/// stay or go together. Where points are asked for, one pair.
struct MixedUnit {
    std::string node;          ///< of a point as its line of the plan begins
    std::string op, rule;      ///< "by hand" where no rule asked
    std::vector<size_t> pairs; ///< numbers in the plan
    double decibels = 0;       ///< signal to noise at its worst activation, from its histogram
    double errorAlone = 0;     ///< worst relative error of an output with these pairs and no others
    double gain = 0;           ///< the float node's share of the model's predicted time
    bool quantised = true;
};

/// One point of the trade: the model with so many units quantised.
struct MixedRow {
    size_t quantised = 0;
    double error = 0;            ///< worst relative error of an output
    int64_t bytes = 0;           ///< of constants
    double predictedSeconds = 0; ///< fused; 0: not known
    double measuredSeconds = 0;  ///< fused, median, all rows in turns; 0: not measured
    bool chosen = false;
};

struct MixedOptions {
    double maxError = 0.01; ///< of the worst output, relative
    BiasForm bias = BiasForm::Float;
    std::map<std::string, double> nodeSeconds; ///< predicted for the float model, by node
    bool perPoint = false;                     ///< each pair is a unit of its own
    /// Of the fused quantised model; may be empty.
    std::function<Result<double>(const Graph&)> predict;
    /// Seconds of a run of each model, fused; may be empty.
    std::function<Result<std::vector<double>>(const std::vector<Graph>&)> measure;
};

struct MixedResult {
    std::vector<MixedUnit> units; ///< the first to leave out first
    std::vector<MixedRow> rows;   ///< from all quantised to none
};

/// Bytes of all constants of a graph.
int64_t constantBytes(const Graph& graph);

/// `plan` is complete. Units are left out by error alone (squared: noise of several adds up so)
/// over gain; how many is found by halving, each step measured; then the last of them are tried
/// again one by one, and stay in where the limit holds. All errors are of all of the judge's sets.
/// Where even few do not keep to the limit none are left quantised, which the last row says.
/// Errors: those of insertPairs and the judge.
Result<MixedResult> chooseMixed(const Graph& model, const PairPlan& plan,
                                const Histograms& histograms, const OutputJudge& judge,
                                const MixedOptions& options, Progress& progress);

} // namespace fuselage::quantize
