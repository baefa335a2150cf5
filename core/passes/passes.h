// SPDX-License-Identifier: Apache-2.0
// Passes over graphs that a .fuse rule cannot say: types and shapes, shape arithmetic, constants.
#pragma once

#include "core/graph/graph.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage {

/// A node whose operands contradict its operator, or a declared type that inference contradicts.
struct InferProblem {
    enum class Kind : uint8_t {
        Contradiction, ///< the graph cannot run
        Inner,         ///< in a subgraph: a branch that is not taken does no harm
        Declaration,   ///< only what the file declares is wrong
    };

    NodeId node; ///< of the outermost graph; invalid for a graph output without a producer
    std::string message;
    Kind kind = Kind::Contradiction;

    /// The graph still runs.
    bool warning() const { return kind != Kind::Contradiction; }
};

/// Computes types, shapes and symbolic contents of every value, subgraphs included. What was
/// declared is kept where inference knows less; dimensions that nobody knows get symbols named
/// after the value and its axis. Problems do not stop it.
std::vector<InferProblem> inferShapes(Graph& graph);

/// Replaces input dimensions: symbols by name ("N"=4), axes of inputs ("x.2"=4); then infers again
/// from the inputs. Symbols not named stay. Error when a name does not occur. `notes` receives what
/// a person should know.
Result<void> bindDimensions(Graph& graph, const std::map<std::string, int64_t>& values);
Result<void> bindDimensions(Graph& graph, const std::map<std::string, int64_t>& values,
                            std::vector<std::string>& notes);

/// Makes every symbolic or unknown input dimension a number: `values` by name, else `fallback`.
/// Returns what was chosen, by symbol. prepareGraph afterwards folds what is now known, and finds
/// numbers that contradict the graph: chooseDimensions (dimensions.h) has those that do not.
std::map<std::string, int64_t>
bindAllDimensions(Graph& graph, const std::map<std::string, int64_t>& values, int64_t fallback = 1);

struct FoldOptions {
    size_t maxBytes = 64U << 20; ///< larger results are not materialised
};

/// Evaluates nodes whose inputs are all constant (through the reference functions), and shape
/// arithmetic whose result is known: Shape of a static value, Reshape targets with one symbolic
/// dimension (written with -1 or 0), Slice bounds. Constant nodes become initializers; Identity
/// and inference-mode Dropout disappear. Nondeterministic operators are never folded.
/// Returns how many nodes it removed.
Result<size_t> foldConstants(Graph& graph, const FoldOptions& options, Progress& progress);

/// infer, fold and clean to a fixpoint: what the matcher wants to see. `notes` (may be null)
/// receives declarations of the file that inference contradicts.
Result<void> prepareGraph(Graph& graph, Progress& progress,
                          std::vector<std::string>* notes = nullptr);

} // namespace fuselage
