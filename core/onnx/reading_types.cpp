// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/reading_types.h"

#include "core/graph/captures.h"
#include "core/onnx/normalise_internal.h"
#include "core/ops/node_answers.h"

#include <algorithm>

namespace fuselage::model_io {

namespace {

const Type unknownType;

/// What the file declares goes before what a node says.
Type merged(const Type& declared, const Type& found) {
    Type out = declared;
    if (out.kind != TypeKind::Tensor || found.kind != TypeKind::Tensor)
        return out;
    if (out.dtype == DType::Undefined)
        out.dtype = found.dtype;
    if (!out.shape) {
        out.shape = found.shape;
    } else if (found.shape && found.shape->size() == out.shape->size()) {
        for (size_t i = 0; i < out.shape->size(); ++i)
            if (!(*out.shape)[i].number())
                (*out.shape)[i] = (*found.shape)[i].number() ? (*found.shape)[i] : (*out.shape)[i];
    }
    return out;
}

} // namespace

class ReadingTypes::Context final : public NodeAnswers {
public:
    Context(const ReadingTypes& types, const Node& node)
        : NodeAnswers(node.outputs.size()), m_types(types), m_node(node) {}

    const Node& node() const override { return m_node; }

    const Type& input(size_t input) const override {
        return has(input) ? m_types.known(m_node.inputs[input]) : unknownType;
    }

    const Tensor* constant(size_t input) const override {
        return has(input) ? constantOf(m_types.m_graph, m_node.inputs[input]).get() : nullptr;
    }

    std::optional<Shape> contents(size_t input) const override {
        return has(input) ? m_types.contentsOf(m_node.inputs[input]) : std::nullopt;
    }

    std::vector<Type> inferSubgraph(const std::string& attribute,
                                    const std::vector<Type>& inputs) override {
        for (const SubgraphRef& ref : subgraphsOf(m_node)) {
            if (ref.attribute != attribute)
                continue;
            const auto first =
                m_node.inputs.begin() + static_cast<std::ptrdiff_t>(ref.firstCapture);
            return m_types.outputsOf(*ref.graph, inputs, {first, m_node.inputs.end()});
        }
        return {};
    }

    void fail(std::string) override {} // core/passes says so

private:
    const ReadingTypes& m_types;
    const Node& m_node;
};

const Type& ReadingTypes::of(ValueId id) {
    for (; m_next < m_graph.nodeBound(); ++m_next)
        if (const NodeId next(static_cast<uint32_t>(m_next)); m_graph.alive(next))
            look(next);
    refresh(id);
    return known(id);
}

/// The file's word may have come after the node was looked at. Not while somebody reads the type.
void ReadingTypes::refresh(ValueId id) {
    if (const auto found = m_types.find(id); found != m_types.end())
        found->second = merged(m_graph.value(id).type, found->second);
}

const Type& ReadingTypes::known(ValueId id) const {
    const auto found = m_types.find(id);
    return found != m_types.end() ? found->second : m_graph.value(id).type;
}

std::optional<Shape> ReadingTypes::contentsOf(ValueId id) const {
    if (const auto found = m_contents.find(id); found != m_contents.end())
        return found->second;
    return contentsOfConstant(constantOf(m_graph, id));
}

void ReadingTypes::give(ValueId id, const Type& type) {
    m_types[id] = merged(m_graph.value(id).type, type);
}

std::vector<Type> ReadingTypes::outputsOf(const Graph& body, const std::vector<Type>& inputs,
                                          const std::vector<ValueId>& captured) const {
    // Inference of a loop looks at its body several times: nested ones must not multiply.
    constexpr int maxDepth = 3;
    if (m_depth == maxDepth)
        return std::vector<Type>(body.outputs().size());
    ReadingTypes inner(body, m_depth + 1);
    for (size_t i = 0; i < std::min(inputs.size(), body.inputs().size()); ++i)
        inner.give(body.inputs()[i], inputs[i]);
    for (size_t i = 0; i < std::min(captured.size(), body.captures().size()); ++i) {
        inner.give(body.captures()[i], known(captured[i]));
        if (auto contents = contentsOf(captured[i]))
            inner.m_contents[body.captures()[i]] = std::move(*contents);
    }
    std::vector<Type> out;
    for (ValueId output : body.outputs())
        out.push_back(inner.of(output));
    return out;
}

void ReadingTypes::look(NodeId id) {
    const Node& node = m_graph.node(id);
    for (ValueId input : node.inputs)
        refresh(input);
    Context context(*this, node);
    const OpRow& row = rowOf(node.op);
    if (node.op == Op::Fused && node.body) {
        std::vector<Type> inputs;
        for (ValueId input : node.inputs)
            inputs.push_back(input.valid() ? known(input) : unknownType);
        const std::vector<Type> made = outputsOf(*node.body, inputs, {});
        for (size_t i = 0; i < made.size(); ++i)
            context.setOutput(i, made[i]);
    } else if (row.infer) {
        row.infer(context);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (!node.outputs[i].valid())
            continue;
        if (context.types[i])
            give(node.outputs[i], *context.types[i]);
        if (context.contentsOut[i])
            m_contents[node.outputs[i]] = std::move(*context.contentsOut[i]);
    }
}

} // namespace fuselage::model_io
