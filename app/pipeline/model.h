// SPDX-License-Identifier: Apache-2.0
// Loading a model for any front end: read, normalise, infer, fold, and say what cannot be run.
#pragma once

#include "app/pipeline/inputs.h"
#include "core/graph/graph.h"
#include "core/passes/dimensions.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fuselage::app {

/// What is read, and what a person says about sizes that the file leaves open.
struct ModelRequest {
    std::string path;
    DimensionValues dims; ///< by name ("N"; "N?" where there is one) or axis of an input ("x.2")
    std::string inputs;   ///< folder of input_N.pb that give all sizes; empty: none
    bool keepSymbols = false; ///< what is given, inputs too, helps decisions and stays out of the
                              ///< graph
    /// Operators and functions of the file that stay one node although their meaning is known in
    /// terms of others, which is then inside of it (namedOperators of rules.h).
    std::set<std::string> whole = {};
    std::set<std::string> declared = {}; ///< operators that a person's rules give a body
    InputNumbers numbers = {};           ///< of inputs of runs
};

struct LoadedModel {
    std::string path;
    Graph graph;          ///< prepared: types inferred, constants and shape arithmetic folded
    size_t fileNodes = 0; ///< before folding
    DimensionValues dims; ///< sizes to plan and run with, of every dimension that stays symbolic
    std::optional<Error> open;             ///< "dim.open": no sizes were found that fit
    std::vector<Tensor> inputs;            ///< those of the request
    InputNumbers numbers = {};             ///< those of the request
    std::map<std::string, double> seconds; ///< "load", "prepare"
    /// What a person should know although the model loads: a newer opset, what is not computed,
    /// what was assumed. One sentence each; every front end shows all of them.
    std::vector<std::string> notes = {};
    /// Operators of com.microsoft that were read as what they stand for, and how often.
    std::map<std::string, size_t> writtenOut = {};
};

/// Reads and prepares a model file. Dimensions stay symbolic, except those that the request gives;
/// for the others sizes are looked for.
Result<LoadedModel> loadModel(const ModelRequest& request, Progress& progress);

/// The same for a file with sizes for some dimensions.
Result<LoadedModel> loadModel(const std::string& path, const DimensionValues& dims,
                              Progress& progress);

/// What a run takes of `graph`, which is the model's with its sizes: the inputs of the request, or
/// generated ones; in either the numbers of the request. Errors: those of generateInputs() and
/// setInputs().
Result<std::vector<Tensor>> inputsOf(const LoadedModel& model, const Graph& graph, uint64_t seed);

/// After a run that failed with "run.shape": the value's declared shape is forgotten, and a note
/// says so; true where another attempt may succeed.
bool forgetDeclaration(LoadedModel& model, const Error& error);

/// What was found at a node while it ran, with the file in front of it.
Error inFile(Error error, const LoadedModel& model);

/// Attempts that are made so.
constexpr size_t mostWrongDeclarations = 16;

/// Success when there are sizes for every dimension; else LoadedModel::open.
Result<void> requireSizes(const LoadedModel& model);

/// An operator that nothing here can compute, with the nodes that use it.
struct MissingOperator {
    std::string op;
    std::string why; ///< "attribute `x` is not known"; empty: the operator itself is not
    std::vector<std::string> nodes;
};

/// Operators without a reference function and nodes that are kept, subgraphs included; sorted by
/// name.
std::vector<MissingOperator> missingOperators(const Graph& graph);

/// Error "load.missing" naming all of them and their nodes, or success.
Result<void> requireOperators(const Graph& graph);

} // namespace fuselage::app
