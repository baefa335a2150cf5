// SPDX-License-Identifier: Apache-2.0
// Three-valued evaluation of the expressions of a rule over one match: conditions, attribute tests,
// dimensions, gates. With a NodeBuilder it also evaluates the right-hand sides of rewrites.
#pragma once

#include "core/rewrite/match.h"
#include "core/rewrite/quantity.h"
#include "core/support/function_ref.h"

#include <map>

namespace fuselage {

using NamedQuantities = std::vector<std::pair<std::string, Quantity>>;

/// Where a rewrite's expressions put their nodes. Values in quantities are values of graph().
class NodeBuilder {
public:
    virtual ~NodeBuilder() = default;
    virtual const Graph& graph() const = 0;
    /// The builder's value that stands for a value of the matched graph.
    virtual ValueId import(ValueId matched) = 0;
    /// A node with `outputs` outputs: its value (a list when outputs > 1), folded to a constant
    /// when all operands are constant; unknown with the reason when it cannot be built.
    virtual Quantity node(Op op, const Quantity::List& operands, const NamedQuantities& attributes,
                          size_t outputs) = 0;
    /// The same of an operator without a row.
    virtual Quantity node(const CustomOperator& custom, const Quantity::List& operands,
                          const NamedQuantities& attributes, size_t outputs) = 0;
};

struct RootValues;

/// What the assignments of a rewrite have made so far.
struct DraftedNames {
    std::map<SlotIndex, Quantity> slots;
    std::map<uint32_t, Quantity> lets;
};

struct EvaluateContext {
    const Graph& graph;
    const Rule& rule;
    const std::vector<Binding>& slots;
    const std::vector<DimBinding>& dims;
    const std::vector<RegionBinding>* regions = nullptr;
    const RootValues* roots = nullptr; ///< what gain, device and total stand for
    NodeBuilder* builder = nullptr;
    DraftedNames* drafted = nullptr; ///< only with a builder
    /// What the `let`s of this evaluation are, once computed.
    std::map<uint32_t, Quantity>* lets = nullptr;

    /// The graph that values in quantities belong to.
    const Graph& valueGraph() const { return builder ? builder->graph() : graph; }
};

/// `outputs`: how many outputs a Node expression at the top is to have.
Quantity evaluate(const EvaluateContext& context, const Expression& expression, size_t outputs = 1);

/// The contents of a constant as a number, list or tensor; unknown when the value is not constant.
Quantity contentsOf(const Graph& graph, ValueId value);

/// The parameter of a node that tests and `c.axis` read: an attribute, what the operator does
/// without it, or the contents of the input of that name. None when the operator has nothing there;
/// unknown when it is computed.
Quantity parameterOfNode(const Graph& graph, const Node& node, const std::string& name);

/// A value of a graph or a constant: arithmetic on it in a rewrite builds nodes.
inline bool isTensorLike(const Quantity& quantity) {
    return quantity.as<ValueId>() || quantity.as<TensorPtr>();
}

/// The rank that negative axes of a node count from; none when it is not known.
std::optional<int64_t> axisRank(const Graph& graph, const Node& node);

inline bool isAxisName(std::string_view name) {
    return name == "axis" || name == "axes";
}

/// Axes counted from the front; a list of them in ascending order.
Quantity axesFromFront(const Quantity& axes, int64_t rank);

/// Multiplications and additions of one node, from its shapes; none when they are not known.
std::optional<double> estimateFlops(const Graph& graph, NodeId node);

} // namespace fuselage
