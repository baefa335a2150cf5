// SPDX-License-Identifier: Apache-2.0
// Asks every operator whether the extents around it are what it would infer. Bodies come from files
// whose declared shapes may lie; index maps are only in bounds when the shapes are true.
#include "core/kernel/lower_body_internal.h"

#include <fmt/format.h>

namespace fuselage {

namespace {

/// One node of a body, with its types and the contents of constants.
class NodeTypes : public InferContext {
public:
    NodeTypes(const LowerBody& body, const Node& node) : m_body(body), m_node(node) {}

    const Node& node() const override { return m_node; }

    size_t inputCount() const override { return m_node.explicitInputs; }

    bool has(size_t input) const override { return LowerBody::input(m_node, input).valid(); }

    const Type& input(size_t input) const override {
        return m_body.graph().value(m_node.inputs[input]).type;
    }

    const Tensor* constant(size_t input) const override {
        return m_body.constant(LowerBody::input(m_node, input));
    }

    std::optional<Shape> contents(size_t input) const override {
        const Tensor* tensor = constant(input);
        if (!tensor || tensor->rank() > 1 || tensor->elementCount() > maxContents ||
            isFloat(tensor->dtype()))
            return std::nullopt;
        Shape out;
        for (int64_t number : tensor->toInts())
            out.emplace_back(number);
        return out;
    }

    size_t outputCount() const override { return m_node.outputs.size(); }

    void setOutput(size_t output, Type type) override {
        if (output >= m_node.outputs.size() || !m_node.outputs[output].valid() || m_problem)
            return;
        const Type& declared = m_body.graph().value(m_node.outputs[output]).type;
        bool differs = type.dtype != DType::Undefined && type.dtype != declared.dtype;
        differs = differs || (type.shape && type.rank() != declared.rank());
        for (size_t d = 0; !differs && type.shape && d < type.rank(); ++d)
            differs = certainlyDifferent((*type.shape)[d], (*declared.shape)[d]);
        if (differs)
            m_problem = shapeReason(declared.text(), type.text(),
                                    fmt::format("{} makes {}, its result is declared as {}",
                                                describe(m_node), type.text(), declared.text()),
                                    "infer the shapes of the model again");
    }

    void setContents(size_t, Shape) override {}

    std::vector<Type> inferSubgraph(const std::string&, const std::vector<Type>&) override {
        return {};
    }

    void fail(std::string message) override {
        if (!m_problem)
            m_problem = shapeReason(describe(m_node), message,
                                    fmt::format("{}: {}", describe(m_node), message));
    }

    const std::optional<Reason>& problem() const { return m_problem; }

private:
    static constexpr int64_t maxContents = 1024;

    const LowerBody& m_body;
    const Node& m_node;
    std::optional<Reason> m_problem;
};

/// The lower_*.cpp files read required inputs and the first result without asking.
bool hasItsOperands(const Node& node) {
    const OpRow& row = rowOf(node.op);
    const bool enough = node.explicitInputs >= static_cast<uint32_t>(row.minInputs);
    const size_t required =
        row.maxInputs == variadic ? node.explicitInputs : static_cast<size_t>(row.minInputs);
    for (size_t slot = 0; enough && slot < required; ++slot)
        if (!node.inputs[slot].valid())
            return false;
    return enough && !node.outputs.empty() && node.outputs[0].valid();
}

} // namespace

std::optional<Reason> checkShapes(const LowerBody& body) {
    for (NodeId id : body.order()) {
        const Node& node = body.node(id);
        if (!hasItsOperands(node))
            return Reason{
                "unsupported-op",
                fmt::format("{} lacks a required operand or its first result", describe(node)),
                "",
                {{"node", node.name}}};
        const OpRow& row = rowOf(node.op);
        if (!row.infer || (row.traits & ControlFlow) != 0)
            continue;
        NodeTypes types(body, node);
        row.infer(types);
        if (types.problem())
            return types.problem();
    }
    return std::nullopt;
}

} // namespace fuselage
