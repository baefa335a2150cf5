// SPDX-License-Identifier: Apache-2.0
// The job of `fuselage quantize`: fuse a model to see where rules ask for pairs, take ranges from
// data, write the pairs into the model, and say what that costs at its outputs.
#pragma once

#include "app/pipeline/fuse.h"
#include "app/pipeline/model.h"
#include "app/quantize/mixed.h"
#include "app/quantize/places.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::quantize {

struct QuantizeOptions {
    app::FuseOptions fuse;
    CompileOptions run; ///< backend and threads of calibration and check
    std::optional<StoredType> type = StoredType::Int8; ///< of activations; none: they stay float
    StoredType weights = StoredType::Int8;             ///< of constants
    /// Of 4-bit factors of matrix products: elements along what is summed that share a scale; 0:
    /// one scale for each output channel.
    int64_t block = 64;
    RangeChoice range;
    BiasForm bias = BiasForm::Float;
    bool foldNorm = true;
    /// Factors of channels move from normalisations into weights (smooth.h), so strongly.
    std::optional<double> smooth;
    bool again =
        false; ///< the model's own pairs are taken out before (app/pipeline/take_pairs_out.h)
    std::vector<std::string> skip, keepFloat; ///< as selection.h reads them
    bool everywhere = false;      ///< also where no kernel here would read integers (leaveUnopened)
    std::optional<PairPlan> plan; ///< its pairs and no others, or an error
    /// Nodes stay in float until the worst output's relative error is at most this (mixed.h).
    std::optional<double> maxError;
    bool mixedPoints = false; ///< each pair by itself in place of each node's
    bool check = true;        ///< compare outputs at the end
    size_t checkSets = 8;     ///< at most so many
};

/// Pairs by rule and point.
struct PointCount {
    std::string rule, point;
    size_t placed = 0, leftOut = 0;
};

struct Quantized {
    Graph graph;   ///< the model with pairs, as it is written
    PairPlan plan; ///< complete: replays without data
    InsertCounts inserted;
    size_t foldedNorms = 0, smoothed = 0;
    std::vector<PointCount> counts; ///< in the order of the trace
    std::vector<LeftOut> leftOut;
    MixedResult mixed;                       ///< empty unless asked for
    std::vector<OutputError> errors;         ///< empty without a check
    std::string checkedOn;                   ///< which inputs the errors are of
    int64_t bytesBefore = 0, bytesAfter = 0; ///< of constants
    std::vector<std::string> notes;          ///< what a person should know, one sentence each
};

/// `model`: as loadModel() gives it with open dimensions kept. With a plan, every line must be a
/// read that the rule of the line still asks for ("plan.lost" with the line and why; lines `by
/// hand` only need the node), its model must be this one by name ("plan.model"), and its ranges are
/// used; what lacks one is calibrated. Nothing is written. Errors: those of fusing, selection.h,
/// observe.h, insert.h, mixed.h; "quantize.nothing" when no place is left, "usage.mixed" for
/// `maxError` with a plan, which says what is quantised.
Result<Quantized> quantizeModel(const app::LoadedModel& model, const app::RuleLibrary& library,
                                const InputSets& sets, const QuantizeOptions& options,
                                Progress& progress);

} // namespace fuselage::quantize
