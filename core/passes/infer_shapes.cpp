// SPDX-License-Identifier: Apache-2.0
// Shape inference: each node by its row, small contents by evaluation, subgraphs nested.
#include "core/graph/captures.h"
#include "core/ops/evaluate_stored.h"
#include "core/ops/node_answers.h"
#include "core/ops/op_schema.h"
#include "core/ops/symbolic_tape.h"
#include "core/ops/tensor_index.h"
#include "core/passes/dimensions_internal.h"
#include "core/passes/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fuselage {

namespace {

const Type unknownType{};

std::shared_ptr<const Shape> shared(std::optional<Shape> contents) {
    return contents ? std::make_shared<const Shape>(std::move(*contents)) : nullptr;
}

/// Their results are never larger than their inputs, though inference cannot tell how large.
bool resultIsBoundedByInputs(Op op) {
    return op == Op::NonZero || op == Op::Unique || op == Op::Compress;
}

/// Folds all elements of a reduction over shape arithmetic ("the product of the last two").
std::optional<Dim> reduceDims(Op op, const Shape& contents) {
    if (contents.empty())
        return std::nullopt;
    Dim out = contents.front();
    for (size_t i = 1; i < contents.size(); ++i) {
        switch (op) {
        case Op::ReduceProd:
            out = out * contents[i];
            break;
        case Op::ReduceSum:
            out = out + contents[i];
            break;
        case Op::ReduceMax:
            out = maxDim(out, contents[i]);
            break;
        case Op::ReduceMin:
            out = minDim(out, contents[i]);
            break;
        default:
            return std::nullopt;
        }
    }
    return out;
}

/// A declared shape that cannot be the inferred one; what was declared with names says less.
bool otherShape(const Type& declared, const Type& inferred) {
    if (!declared.shape || !inferred.shape)
        return false;
    if (declared.rank() != inferred.rank())
        return true;
    for (size_t d = 0; d < declared.rank(); ++d)
        if ((*declared.shape)[d].isNumber() && (*declared.shape)[d].value() >= 0 &&
            certainlyDifferent((*declared.shape)[d], (*inferred.shape)[d]))
            return true;
    return false;
}

bool isFullReduction(Op op) {
    return op == Op::ReduceProd || op == Op::ReduceSum || op == Op::ReduceMax ||
           op == Op::ReduceMin;
}

} // namespace

/// One node's questions and answers.
class GraphInference::Context final : public NodeAnswers {
public:
    Context(GraphInference& walk, NodeId id)
        : NodeAnswers(walk.m_graph.node(id).outputs.size()), m_walk(walk), m_id(id) {}

    const Node& node() const override { return m_walk.m_graph.node(m_id); }

    const Type& input(size_t input) const override {
        return has(input) ? m_walk.m_graph.value(node().inputs[input]).type : unknownType;
    }

    const Tensor* constant(size_t input) const override {
        return has(input) ? m_walk.constantOf(node().inputs[input]).get() : nullptr;
    }

    std::optional<Shape> contents(size_t input) const override {
        return has(input) ? m_walk.contentsOf(node().inputs[input]) : std::nullopt;
    }

    std::vector<Type> inferSubgraph(const std::string& attribute,
                                    const std::vector<Type>& inputs) override;

    void fail(std::string message) override {
        m_walk.problem(m_id, std::move(message), InferProblem::Kind::Contradiction);
    }

private:
    /// A body is inferred again with weaker types when a loop changes them: start from what was
    /// declared, not from the stronger types of the first time.
    void restoreDeclared(const std::string& attribute, Graph& graph);

    GraphInference& m_walk;
    NodeId m_id;
    std::map<std::string, std::vector<Type>> m_declared;
};

void GraphInference::Context::restoreDeclared(const std::string& attribute, Graph& graph) {
    auto [found, added] = m_declared.try_emplace(attribute);
    std::vector<Type>& types = found->second;
    if (added)
        types.resize(graph.valueBound());
    for (ValueId id : graph.values()) {
        if (added)
            types[id.index()] = graph.value(id).type;
        else
            graph.setType(id, types[id.index()]);
    }
}

std::vector<Type> GraphInference::Context::inferSubgraph(const std::string& attribute,
                                                         const std::vector<Type>& inputs) {
    std::shared_ptr<Graph> graph = ownSubgraph(m_walk.m_graph, m_id, attribute);
    if (!graph)
        return {};
    restoreDeclared(attribute, *graph);
    const NodeId owner = m_walk.m_owner.valid() ? m_walk.m_owner : m_id;
    GraphInference inner(*graph, m_walk.m_shared, m_walk.pathOf(node(), attribute), owner);
    for (size_t i = 0; i < std::min(inputs.size(), graph->inputs().size()); ++i) {
        Type type = completed(inputs[i], graph->value(graph->inputs()[i]).type);
        inner.nameUnknownDimensions(graph->inputs()[i], type);
        graph->setType(graph->inputs()[i], std::move(type));
    }
    for (const SubgraphRef& ref : subgraphsOf(node())) {
        if (ref.attribute != attribute)
            continue;
        for (size_t i = 0; i < graph->captures().size(); ++i) {
            const ValueId outside = node().inputs[ref.firstCapture + i];
            const ValueId inside = graph->captures()[i];
            graph->setType(inside, m_walk.m_graph.value(outside).type);
            graph->setSymbolicContents(inside, shared(m_walk.contentsOf(outside)));
            inner.knowConstant(inside, m_walk.constantOf(outside));
        }
    }
    inner.run();
    return inner.outputTypes();
}

GraphInference::GraphInference(Graph& graph, InferShared& shared, std::string path, NodeId owner)
    : m_graph(graph), m_shared(shared), m_path(std::move(path)), m_owner(owner),
      m_known(graph.valueBound()) {}

std::string GraphInference::pathOf(const Node& node, const std::string& part) const {
    return m_path + node.name + "." + part + ".";
}

TensorPtr GraphInference::constantOf(ValueId id) const {
    if (!id.valid())
        return nullptr;
    const TensorPtr& constant = m_graph.value(id).constant;
    return constant ? constant : m_known[id.index()];
}

std::optional<Shape> GraphInference::contentsOf(ValueId id) const {
    if (auto& known = m_graph.value(id).symbolicContents)
        return *known;
    return contentsOfConstant(constantOf(id));
}

TensorPtr GraphInference::smallTensorOf(ValueId id) const {
    if (TensorPtr constant = constantOf(id))
        return constant->elementCount() <= maxSmallElements ? constant : nullptr;
    const Value& value = m_graph.value(id);
    auto extents = value.type.extents();
    if (!value.symbolicContents || !extents || !holdsContents(value.type.dtype) ||
        static_cast<int64_t>(value.symbolicContents->size()) > maxSmallElements ||
        elementCount(*extents) != static_cast<int64_t>(value.symbolicContents->size()))
        return nullptr;
    auto out = std::make_shared<Tensor>(value.type.dtype, *extents);
    for (size_t i = 0; i < value.symbolicContents->size(); ++i) {
        const Dim& dim = (*value.symbolicContents)[i];
        if (!dim.isNumber())
            return nullptr;
        out->setInt(static_cast<int64_t>(i), dim.value());
    }
    return out;
}

void GraphInference::problem(NodeId at, std::string message, InferProblem::Kind kind) {
    using Kind = InferProblem::Kind;
    if (!m_path.empty())
        message = m_path + m_graph.node(at).name + ": " + message;
    if (kind == Kind::Contradiction && !m_path.empty())
        kind = Kind::Inner;
    m_shared.contradicted |= kind == Kind::Contradiction;
    m_shared.problems.push_back({m_owner.valid() ? m_owner : at, std::move(message), kind});
}

void GraphInference::keepNumbers(ValueId id, Type& type) const {
    const Type& declared = m_graph.value(id).type;
    if (!m_shared.keepNumbers || !m_path.empty() || !declared.shape || !type.shape ||
        declared.shape->size() != type.shape->size())
        return;
    for (size_t i = 0; i < type.shape->size(); ++i)
        if (!(*type.shape)[i].isNumber() && (*declared.shape)[i].isNumber())
            (*type.shape)[i] = (*declared.shape)[i];
}

void GraphInference::nameUnknownDimensions(ValueId id, Type& type) const {
    if (!type.shape || type.kind != TypeKind::Tensor)
        return;
    for (size_t i = 0; i < type.shape->size(); ++i) {
        Dim& dim = (*type.shape)[i];
        if (!dim.isUnknown() && !(dim.isNumber() && dim.value() < 0))
            continue;
        std::string name = fmt::format("{}{}_dim{}", m_path, m_graph.value(id).name, i);
        while (m_shared.inputSymbols.contains(name))
            name += "_";
        dim = Dim::symbol(name);
    }
}

void GraphInference::leaveOpenWhereBranchesDiffer(const Node& node, size_t output,
                                                  const Type& inferred, Type& type) const {
    auto yes = node.attributes.graph("then_branch"), no = node.attributes.graph("else_branch");
    if (!yes || !no || output >= yes->outputs().size() || output >= no->outputs().size())
        return;
    const Type& a = yes->value(yes->outputs()[output]).type;
    const Type& b = no->value(no->outputs()[output]).type;
    if (!a.shape || !b.shape || !type.shape)
        return;
    if (a.rank() != b.rank()) {
        if (!inferred.shape)
            type.shape.reset();
        return;
    }
    for (size_t d = 0; inferred.shape && d < std::min(a.rank(), type.rank()); ++d)
        if ((*inferred.shape)[d].isUnknown() && certainlyDifferent((*a.shape)[d], (*b.shape)[d]))
            (*type.shape)[d] = Dim();
}

void GraphInference::inferFused(NodeId id, Context& context) {
    const Node& node = m_graph.node(id);
    auto body = std::make_shared<Graph>(*node.body);
    GraphInference inner(*body, m_shared, pathOf(node, "body"), m_owner.valid() ? m_owner : id);
    for (size_t i = 0; i < std::min<size_t>(body->inputs().size(), node.explicitInputs); ++i) {
        const ValueId outside = node.inputs[i];
        if (!outside.valid())
            continue;
        body->setType(body->inputs()[i], m_graph.value(outside).type);
        body->setSymbolicContents(body->inputs()[i], shared(contentsOf(outside)));
        inner.knowConstant(body->inputs()[i], constantOf(outside));
    }
    inner.run();
    std::vector<Type> types = inner.outputTypes();
    for (size_t i = 0; i < std::min(types.size(), node.outputs.size()); ++i) {
        context.types[i] = types[i];
        context.contentsOut[i] = body->value(body->outputs()[i]).symbolicContents;
    }
    m_graph.edit(id).body = std::move(body);
}

namespace {

/// What an operator's published form says of a result's elements: a type, or that of an operand.
DType publishedType(const OpSchema& form, size_t output, const InferContext& context) {
    const std::string_view said = form.outputs[output].type;
    if (const auto type = dtypeFromName(said))
        return *type;
    for (size_t i = 0; !said.empty() && i < form.inputs.size(); ++i)
        if (form.inputs[i].type == said && context.has(i) &&
            context.input(i).kind == TypeKind::Tensor && context.input(i).dtype != DType::Undefined)
            return context.input(i).dtype;
    return DType::Undefined;
}

} // namespace

void GraphInference::inferUnknownOp(NodeId id, Context& context) {
    // Without a shape function the subgraphs still learn what they capture.
    for (const SubgraphRef& ref : subgraphsOf(m_graph.node(id)))
        context.inferSubgraph(ref.attribute, {});
    const Node& node = m_graph.node(id);
    const auto imported = m_graph.opsetImports.find(node.customDomain);
    if (imported == m_graph.opsetImports.end())
        return;
    const OpSchema* form = publishedSchema(node.customDomain, node.customOp, imported->second);
    for (size_t i = 0; form && i < std::min(form->outputs.size(), node.outputs.size()); ++i)
        if (const DType type = publishedType(*form, i, context); type != DType::Undefined)
            context.types[i] = Type{TypeKind::Tensor, type, std::nullopt};
}

bool GraphInference::evaluateSmall(NodeId id, Context& context) {
    const Node& node = m_graph.node(id);
    if (hasTrait(node.op, Nondeterministic | ControlFlow) || !canEvaluate(node.op) ||
        (node.explicitInputs == 0 && node.op != Op::Constant))
        return false;
    std::vector<StoredOperand> operands;
    for (uint32_t i = 0; i < node.explicitInputs; ++i) {
        operands.emplace_back(node.inputs[i].valid() ? smallTensorOf(node.inputs[i]) : nullptr);
        if (node.inputs[i].valid() && !operands.back().tensor)
            return false;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (resultIsBoundedByInputs(node.op))
            break;
        auto count = context.types[i] ? context.types[i]->elementCount() : std::nullopt;
        if (node.outputs[i].valid() && (!count || *count > maxSmallElements))
            return false;
    }
    const auto results = evaluateStored(node, operands, m_shared.threads);
    if (!results || results->size() < node.outputs.size())
        return false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        const TensorPtr& tensor = (*results)[i];
        if (!node.outputs[i].valid() || !tensor)
            continue;
        context.types[i] = tensor->type();
        if (holdsContents(tensor->dtype()))
            context.setContents(i, toShape(tensor->toInts()));
        m_known[node.outputs[i].index()] = tensor;
    }
    return true;
}

void GraphInference::reduceContents(NodeId id, Context& context) {
    const Node& node = m_graph.node(id);
    if (!isFullReduction(node.op) || context.contentsOut[0] || !context.has(0) ||
        !context.types[0] || context.types[0]->elementCount() != 1)
        return;
    auto contents = contentsOf(node.inputs[0]);
    auto reduced = contents ? reduceDims(node.op, *contents) : std::nullopt;
    if (reduced)
        context.setContents(0, {*reduced});
}

void GraphInference::store(NodeId id, Context& context) {
    const std::vector<ValueId> outputs = m_graph.node(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].valid())
            continue;
        Type type = completed(context.types[i] ? *context.types[i] : unknownType,
                              m_graph.value(outputs[i]).type);
        if (m_graph.node(id).op == Op::If && context.types[i])
            leaveOpenWhereBranchesDiffer(m_graph.node(id), i, *context.types[i], type);
        keepNumbers(outputs[i], type);
        checkDeclared(outputs[i], type);
        nameUnknownDimensions(outputs[i], type);
        m_graph.setType(outputs[i], std::move(type));
        m_graph.setSymbolicContents(outputs[i], context.contentsOut[i]);
    }
}

void GraphInference::inferNode(NodeId id) {
    const Node& node = m_graph.node(id);
    Context context(*this, id);
    const OpRow& row = rowOf(node.op);
    if (node.op == Op::Fused && node.body)
        inferFused(id, context);
    else if (row.infer)
        row.infer(context);
    else
        inferUnknownOp(id, context);
    TensorPtr value = node.op == Op::Constant ? node.attributes.tensor("value") : nullptr;
    if (value && !node.outputs.empty() && node.outputs[0].valid()) {
        m_known[node.outputs[0].index()] = value;
        context.types[0] = value->type();
    } else if (!evaluateSmall(id, context)) {
        reduceContents(id, context);
    }
    store(id, context);
}

void GraphInference::run() {
    std::vector<Type> declared;
    for (ValueId output : m_graph.outputs())
        declared.push_back(m_graph.value(output).type);
    for (NodeId id : topologicalOrder(m_graph)) {
        inferNode(id);
        if (m_shared.contradicted && m_shared.stopAtContradiction)
            return;
    }
    checkDeclaredOutputs(declared);
}

void GraphInference::checkDeclared(ValueId id, const Type& inferred) {
    const Value& value = m_graph.value(id);
    // Bodies of loops are inferred several times, and outputs are looked at last.
    if (!m_shared.judgeDeclarations || !m_path.empty() || !value.producer.valid() ||
        !otherShape(value.type, inferred) ||
        std::find(m_graph.outputs().begin(), m_graph.outputs().end(), id) !=
            m_graph.outputs().end())
        return;
    problem(value.producer,
            fmt::format("`{}` is declared as {}, but is {}", value.name, value.type.text(),
                        inferred.text()),
            InferProblem::Kind::Declaration);
}

void GraphInference::checkDeclaredOutputs(const std::vector<Type>& declared) {
    // Of what subgraphs declare, names that meant other sizes are most; nobody needs a note on it.
    if (m_shared.judgeDeclarations && !m_path.empty())
        return;
    for (size_t i = 0; i < declared.size(); ++i) {
        const ValueId id = m_graph.outputs()[i];
        const Value& value = m_graph.value(id);
        const Type& before = declared[i];
        const bool otherType = before.dtype != DType::Undefined && before.dtype != value.type.dtype;
        if ((otherType || otherShape(before, value.type)) && value.producer.valid())
            problem(value.producer,
                    fmt::format("output `{}` is declared as {}, but is {}", value.name,
                                before.text(), value.type.text()),
                    InferProblem::Kind::Declaration);
    }
}

std::vector<Type> GraphInference::outputTypes() const {
    std::vector<Type> out;
    for (ValueId output : m_graph.outputs())
        out.push_back(m_graph.value(output).type);
    return out;
}

} // namespace fuselage
