// SPDX-License-Identifier: Apache-2.0
// The right-hand side of a rewrite while it is built: a small graph of its own, so that types can
// be inferred and compared before the real graph is touched. Nothing to roll back when it fails.
#pragma once

#include "core/passes/passes.h"
#include "core/rewrite/evaluate.h"

#include <functional>
#include <string>
#include <unordered_map>

namespace fuselage {

/// Infers types of a graph; normally inferShapes of core/passes.
using InferenceFunction = std::function<std::vector<InferProblem>(Graph&)>;

/// Attributes of an operator without a row, each of the type that is declared for it, or else of
/// that of its value. What is none is left out. Contents of values of `graph` may be read.
Result<Attributes> customAttributes(const Graph& graph, const CustomOperator& custom,
                                    const NamedQuantities& given);

class Draft final : public NodeBuilder {
public:
    /// Without `infer` the types of new values stay unknown until they fold.
    Draft(const Graph& matched, InferenceFunction infer);

    const Graph& graph() const override { return m_graph; }

    ValueId import(ValueId matched) override;
    Quantity node(Op op, const Quantity::List& operands, const NamedQuantities& attributes,
                  size_t outputs) override;

    Quantity node(const CustomOperator& custom, const Quantity::List& operands,
                  const NamedQuantities& attributes, size_t outputs) override;

    /// A value of the draft for any quantity: constants for numbers, lists and tensors.
    ValueId valueOf(const Quantity& quantity, DType like);

    /// The value of the matched graph that this one stands for; invalid for new values.
    ValueId imported(ValueId drafted) const;

    /// Why a node could not be built; empty while all is well.
    const std::string& problem() const { return m_problem; }

private:
    Quantity fail(std::string why);
    /// As valueOf; a literal where an operator takes no `like`, but whole numbers, is one of those:
    /// of axes the only one.
    ValueId operandOf(const NodeSpec& spec, const Quantity& quantity, DType like);
    bool addOperands(NodeSpec& spec, const Quantity::List& operands);
    bool addAttributes(NodeSpec& spec, const NamedQuantities& attributes);
    Quantity resultsOf(NodeId id) const;
    void infer();
    bool fold(NodeId id);
    bool foldView(NodeId id);

    const Graph& m_matched;
    Graph m_graph;
    InferenceFunction m_infer;
    std::unordered_map<ValueId, ValueId> m_imports; ///< matched -> draft
    std::unordered_map<ValueId, ValueId> m_origins; ///< draft -> matched
    std::string m_problem;
};

} // namespace fuselage
