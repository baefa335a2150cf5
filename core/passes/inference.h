// SPDX-License-Identifier: Apache-2.0
// The walk of shape inference, private to core/passes: one GraphInference for each graph, nested
// for subgraphs and fused bodies.
#pragma once

#include "core/ops/evaluate.h"
#include "core/passes/passes.h"

#include <string>
#include <unordered_set>
#include <vector>

namespace fuselage {

/// Tensors up to this size carry contents and are evaluated during inference.
constexpr int64_t maxSmallElements = 64;

/// What all graphs of one walk share.
struct InferShared {
    std::vector<InferProblem> problems;
    bool stopAtContradiction = false; ///< of the outermost graph: the rest is not walked
    bool contradicted = false;        ///< such a one was met
    bool judgeDeclarations = false;   ///< of inner values too: types are as a file declares them
    /// Numbers that values of the outermost graph have stay where inference finds symbols: a run
    /// showed them (specialise.h).
    bool keepNumbers = false;
    ThreadPool threads{1};
    std::unordered_set<std::string> inputSymbols; ///< names that inner values must not take
};

/// Gives unknown and negative dimensions of the graph's inputs symbols named after input and axis.
void nameInputDimensions(Graph& graph);

/// inferShapes for types that are as a file declares them: those of inner values that turn out to
/// be others are problems too.
std::vector<InferProblem> inferDeclaredShapes(Graph& graph);

/// inferShapes and prepareGraph with InferShared::keepNumbers.
std::vector<InferProblem> inferShownShapes(Graph& graph);
Result<void> prepareShownGraph(Graph& graph, Progress& progress);

/// The problems up to the first that stops the graph from running, that one included.
std::vector<InferProblem> inferUntilContradiction(Graph& graph);

class GraphInference {
public:
    /// `path` names the graph in symbols and messages: "" for the outermost, "loop1.body" inside.
    GraphInference(Graph& graph, InferShared& shared, std::string path, NodeId owner);

    /// A value of this graph (capture or input) that is known to be constant outside.
    void knowConstant(ValueId id, TensorPtr data) { m_known[id.index()] = std::move(data); }

    void run();

    std::vector<Type> outputTypes() const;

private:
    class Context;

    void inferNode(NodeId id);
    void inferUnknownOp(NodeId id, Context& context);
    void inferFused(NodeId id, Context& context);
    bool evaluateSmall(NodeId id, Context& context);
    void reduceContents(NodeId id, Context& context);
    void store(NodeId id, Context& context);
    /// Where the branches of an If differ, what the file declares is wrong for one of them.
    void leaveOpenWhereBranchesDiffer(const Node& node, size_t output, const Type& inferred,
                                      Type& type) const;
    /// See InferShared::keepNumbers.
    void keepNumbers(ValueId id, Type& type) const;
    void nameUnknownDimensions(ValueId id, Type& type) const;
    void checkDeclaredOutputs(const std::vector<Type>& declared);
    void problem(NodeId at, std::string message, InferProblem::Kind kind);
    /// A declared type of an inner value that inference contradicts.
    void checkDeclared(ValueId id, const Type& inferred);
    std::string pathOf(const Node& node, const std::string& part) const;

    /// The tensor of a constant or of a small value that this walk has computed; else null.
    TensorPtr constantOf(ValueId id) const;
    std::optional<Shape> contentsOf(ValueId id) const;
    /// A small constant, or contents that are all numbers, as a tensor; else null.
    TensorPtr smallTensorOf(ValueId id) const;

    Graph& m_graph;
    InferShared& m_shared;
    std::string m_path;
    NodeId m_owner; ///< node of the outermost graph that this graph belongs to
    std::vector<TensorPtr> m_known;
};

} // namespace fuselage
