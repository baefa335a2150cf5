// SPDX-License-Identifier: Apache-2.0
#include "core/plan/join_body.h"

#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace fuselage::planner {

namespace {

bool isProduct(Op op) {
    return op == Op::MatMul || op == Op::Gemm || op == Op::Conv;
}

Extents extentsOf(const Graph& graph, ValueId value) {
    return graph.value(value).type.extents().value_or(Extents{});
}

/// Of the weights: the dimension that gives the product's columns.
size_t weightAxis(const Node& product) {
    if (product.op == Op::Conv)
        return 0;
    return product.op == Op::Gemm && product.attributes.integer("transB") != 0 ? 0 : 1;
}

bool isOfColumns(const Node& node, size_t slot) {
    return (node.op == Op::BatchNormalization && slot > 0) || (node.op == Op::Conv && slot == 2);
}

/// Of a constant that a node reads: the axis along which it has an element for each column.
std::optional<size_t> columnAxis(const ProductBranch& branch, const Node& node, size_t slot,
                                 const Extents& extents) {
    if (isOfColumns(node, slot))
        return 0;
    if (extents.size() > branch.result.size())
        return std::nullopt;
    const size_t before = branch.result.size() - extents.size();
    if (branch.column < before)
        return std::nullopt;
    const size_t axis = branch.column - before;
    return extents[axis] == branch.columns() ? std::optional(axis) : std::nullopt;
}

/// A value of the branch's body that is not constant, made by a node of it.
bool isInner(const ProductBranch& branch, ValueId value) {
    return branch.request->body->producer(value).valid();
}

/// Something that the product leads to, and besides it constants only.
bool readsConstantsBeside(const ProductBranch& branch, const Node& node) {
    bool any = false;
    for (ValueId input : node.inputs) {
        if (!input.valid())
            continue;
        if (isInner(branch, input))
            any = true;
        else if (!branch.constant(input))
            return false;
    }
    return any;
}

bool isElementwise(const Node& node) {
    return hasTrait(node.op, Trait::Elementwise) || node.op == Op::BatchNormalization;
}

std::string keyOf(const ProductBranch& branch) {
    const Graph& body = *branch.request->body;
    const Node& node = body.node(branch.product);
    std::string out = nameOf(node.op);
    for (const Attributes::Entry& entry : node.attributes)
        out += fmt::format(" {}={}", entry.name, text(entry.value));
    Extents weights = extentsOf(body, node.inputs[1]);
    weights[weightAxis(node)] = 0;
    const bool hasBias = node.inputs.size() > 2 && node.inputs[2].valid();
    out += " " + text(weights);
    for (ValueId value : {node.inputs[1], node.outputs[0], body.outputs()[0]})
        out += fmt::format(" {}", static_cast<int>(body.value(value).type.dtype));
    return out + (hasBias ? fmt::format(" bias {}", extentsOf(body, node.inputs[2]).size()) : "");
}

} // namespace

TensorPtr ProductBranch::constant(ValueId value) const {
    const Graph& body = *request->body;
    if (body.isConstant(value))
        return body.value(value).constant;
    for (size_t i = 0; i < body.inputs().size() && i < request->constants.size(); ++i)
        if (body.inputs()[i] == value)
            return request->constants[i];
    return nullptr;
}

std::optional<ProductBranch> branchOf(const LowerRequest& request) {
    const Graph& body = *request.body;
    ProductBranch out;
    out.request = &request;
    out.order = topologicalOrder(body);
    if (body.outputs().size() != 1)
        return std::nullopt;
    for (NodeId id : out.order)
        if (isProduct(body.node(id).op)) {
            if (out.product.valid())
                return std::nullopt;
            out.product = id;
        }
    if (!out.product.valid() || request.operands.size() != body.inputs().size())
        return std::nullopt;
    const Node& product = body.node(out.product);
    const std::vector<ValueId>& inputs = body.inputs();
    const auto first = std::find(inputs.begin(), inputs.end(), product.inputs[0]);
    const TensorPtr weights = out.constant(product.inputs[1]);
    if (first == inputs.end() || out.constant(product.inputs[0]) || !weights ||
        (product.op == Op::Conv ? product.attributes.integer("group", 1) != 1
                                : weights->rank() != 2))
        return std::nullopt;
    out.shared = request.operands[static_cast<size_t>(first - inputs.begin())];
    out.result = extentsOf(body, product.outputs[0]);
    if (out.result.size() < 2)
        return std::nullopt;
    out.column = product.op == Op::Conv ? 1 : out.result.size() - 1;
    if (out.columns() < 2 || weights->extents()[weightAxis(product)] != out.columns())
        return std::nullopt;
    for (size_t slot = 2; slot < product.inputs.size(); ++slot) {
        const ValueId bias = product.inputs[slot];
        if (!bias.valid())
            continue;
        const TensorPtr data = out.constant(bias);
        if (!data || !columnAxis(out, product, slot, data->extents()))
            return std::nullopt;
    }
    for (NodeId id : out.order) {
        const Node& node = body.node(id);
        if (node.outputs.size() != 1 || extentsOf(body, node.outputs[0]) != out.result)
            return std::nullopt;
        if (id != out.product && (!isElementwise(node) || !readsConstantsBeside(out, node)))
            return std::nullopt;
    }
    if (!isInner(out, body.outputs()[0]))
        return std::nullopt;
    out.key = keyOf(out);
    return out;
}

namespace {

bool sameAttributes(const Attributes& a, const Attributes& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
               return x.name == y.name && equal(x.value, y.value);
           });
}

/// Both given by column along one axis, or the same numbers for all columns.
bool sameConstant(const ProductBranch& a, const ProductBranch& b, const Node& node, size_t slot,
                  const Tensor& left, const Tensor& right) {
    if (left.dtype() != right.dtype() || left.rank() != right.rank())
        return false;
    const auto axis = columnAxis(a, node, slot, left.extents());
    if (axis != columnAxis(b, node, slot, right.extents()))
        return false;
    if (!axis)
        return identical(left, right);
    for (size_t d = 0; d < left.rank(); ++d)
        if (d != *axis && left.extents()[d] != right.extents()[d])
            return false;
    return true;
}

} // namespace

bool sameEpilogue(const ProductBranch& a, const ProductBranch& b) {
    if (a.order.size() != b.order.size())
        return false;
    const Graph &left = *a.request->body, &right = *b.request->body;
    std::unordered_map<ValueId, ValueId> map;
    for (size_t i = 0; i < a.order.size(); ++i) {
        const Node &x = left.node(a.order[i]), &y = right.node(b.order[i]);
        if (x.op != y.op || x.inputs.size() != y.inputs.size() ||
            !sameAttributes(x.attributes, y.attributes) ||
            left.value(x.outputs[0]).type.dtype != right.value(y.outputs[0]).type.dtype)
            return false;
        map[x.outputs[0]] = y.outputs[0];
        if (isProduct(x.op))
            continue; // the key tells
        for (size_t slot = 0; slot < x.inputs.size(); ++slot) {
            const ValueId p = x.inputs[slot], q = y.inputs[slot];
            if (p.valid() != q.valid())
                return false;
            if (!p.valid())
                continue;
            if (isInner(a, p) != isInner(b, q) || (isInner(a, p) && map.at(p) != q))
                return false;
            if (!isInner(a, p) && !sameConstant(a, b, x, slot, *a.constant(p), *b.constant(q)))
                return false;
        }
    }
    return map.at(left.outputs()[0]) == right.outputs()[0];
}

namespace {

/// What other branches' columns see: any number does, since nobody reads its result.
TensorPtr onesLike(const Tensor& model, size_t axis, int64_t columns) {
    Extents extents = model.extents();
    extents[axis] = columns;
    auto out = std::make_shared<Tensor>(model.dtype(), std::move(extents));
    for (int64_t i = 0; i < out->elementCount(); ++i)
        isFloat(out->dtype()) ? out->set(i, 1) : out->setInt(i, 1);
    return out;
}

class Joiner {
public:
    explicit Joiner(const std::vector<const ProductBranch*>& branches)
        : m_branches(branches), m_result(branches[0]->result) {
        m_result[column()] = 0;
        for (const ProductBranch* branch : branches)
            m_result[column()] += branch->columns();
        for (size_t i = 0; i < branches.size(); ++i) {
            size_t k = 0;
            while (k < m_kinds.size() && !sameEpilogue(*branches[m_kinds[k][0]], *branches[i]))
                ++k;
            if (k == m_kinds.size())
                m_kinds.emplace_back();
            m_kinds[k].push_back(i);
        }
    }

    JoinedBody make() {
        const ValueId product = addProduct();
        ValueId result;
        for (const std::vector<size_t>& kind : m_kinds) {
            const ValueId own = addEpilogue(kind, product);
            result = result.valid() ? addChoice(kind, own, result) : own;
        }
        m_body.addOutput(result);
        m_out.type = m_body.value(result).type;
        m_out.kinds = m_kinds.size();
        m_out.request.body = std::make_shared<const Graph>(std::move(m_body));
        return std::move(m_out);
    }

private:
    size_t column() const { return m_branches[0]->column; }

    ValueId addInput(JoinedInput input, const Type& type) {
        m_out.inputs.push_back(std::move(input));
        return m_body.addInput(m_body.freshName("i"), type);
    }

    /// A constant as each branch's columns have it.
    ValueId addConstants(std::vector<TensorPtr> parts, size_t axis) {
        Extents extents = parts[0]->extents();
        extents[axis] = 0;
        for (const TensorPtr& part : parts)
            extents[axis] += part->extents()[axis];
        const Type type = tensorType(parts[0]->dtype(), toShape(extents));
        return addInput({ValueId(), std::move(parts), axis}, type);
    }

    ValueId addNode(const Node& like, std::vector<ValueId> inputs, DType dtype) {
        const NodeId id = m_body.addNode(
            {like.op, like.name, std::move(inputs), {m_body.freshName("v")}, like.attributes});
        m_body.setType(m_body.node(id).outputs[0], tensorType(dtype, toShape(m_result)));
        return m_body.node(id).outputs[0];
    }

    const Node& nodeOf(size_t branch, size_t at) const {
        const ProductBranch& of = *m_branches[branch];
        return of.request->body->node(of.order[at]);
    }

    ValueId addProduct() {
        const ProductBranch& first = *m_branches[0];
        const Graph& body = *first.request->body;
        const Node& node = body.node(first.product);
        std::vector<ValueId> inputs{
            addInput({first.shared, {}, 0}, body.value(node.inputs[0]).type)};
        for (size_t slot = 1; slot < node.inputs.size(); ++slot) {
            if (!node.inputs[slot].valid()) {
                inputs.emplace_back();
                continue;
            }
            std::vector<TensorPtr> parts;
            for (const ProductBranch* branch : m_branches)
                parts.push_back(
                    branch->constant(branch->request->body->node(branch->product).inputs[slot]));
            const size_t axis =
                slot == 1 ? weightAxis(node) : *columnAxis(first, node, slot, parts[0]->extents());
            inputs.push_back(addConstants(std::move(parts), axis));
        }
        return addNode(node, std::move(inputs), body.value(node.outputs[0]).type.dtype);
    }

    /// The constant of a kind's first branch, or of all branches of the kind on their columns.
    ValueId constantFor(const std::vector<size_t>& kind, size_t at, size_t slot) {
        const ProductBranch& first = *m_branches[kind[0]];
        const Node& node = nodeOf(kind[0], at);
        const TensorPtr model = first.constant(node.inputs[slot]);
        const auto axis = columnAxis(first, node, slot, model->extents());
        if (!axis && model->elementCount() == 1)
            return m_body.addConstant(m_body.freshName("c"), model);
        if (!axis)
            return addConstants({model}, 0);
        std::vector<TensorPtr> parts;
        for (size_t i = 0; i < m_branches.size(); ++i)
            parts.push_back(std::find(kind.begin(), kind.end(), i) == kind.end()
                                ? onesLike(*model, *axis, m_branches[i]->columns())
                                : m_branches[i]->constant(nodeOf(i, at).inputs[slot]));
        return addConstants(std::move(parts), *axis);
    }

    /// The work of these branches on all columns.
    ValueId addEpilogue(const std::vector<size_t>& kind, ValueId product) {
        const ProductBranch& first = *m_branches[kind[0]];
        const Graph& body = *first.request->body;
        std::unordered_map<ValueId, ValueId> map{{body.node(first.product).outputs[0], product}};
        for (size_t at = 0; at < first.order.size(); ++at) {
            if (first.order[at] == first.product)
                continue;
            const Node& node = nodeOf(kind[0], at);
            std::vector<ValueId> inputs;
            for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
                const ValueId input = node.inputs[slot];
                inputs.push_back(!input.valid()          ? ValueId()
                                 : isInner(first, input) ? map.at(input)
                                                         : constantFor(kind, at, slot));
            }
            map[node.outputs[0]] =
                addNode(node, std::move(inputs), body.value(node.outputs[0]).type.dtype);
        }
        return map.at(body.outputs()[0]);
    }

    /// This kind's result on its branches' columns, what was chosen before on all others.
    ValueId addChoice(const std::vector<size_t>& kind, ValueId own, ValueId others) {
        Extents extents(m_result.size() - column(), 1);
        extents[0] = m_result[column()];
        auto mask = std::make_shared<Tensor>(DType::Bool, std::move(extents));
        int64_t at = 0;
        for (size_t i = 0; i < m_branches.size(); ++i)
            for (int64_t c = 0; c < m_branches[i]->columns(); ++c)
                mask->setInt(at++, std::find(kind.begin(), kind.end(), i) != kind.end());
        Node choice;
        choice.op = Op::Where;
        const DType dtype = m_body.value(own).type.dtype;
        return addNode(choice, {addConstants({std::move(mask)}, 0), own, others}, dtype);
    }

    const std::vector<const ProductBranch*>& m_branches;
    Extents m_result;
    std::vector<std::vector<size_t>> m_kinds; ///< branches with the same epilogue
    Graph m_body{"joined"};
    JoinedBody m_out;
};

} // namespace

JoinedBody joinBodies(const std::vector<const ProductBranch*>& branches) {
    return Joiner(branches).make();
}

TensorPtr sideBySide(const std::vector<TensorPtr>& parts, size_t axis) {
    if (parts.size() == 1)
        return parts[0];
    Extents extents = parts[0]->extents();
    size_t rows = 1, inner = sizeOf(parts[0]->dtype());
    for (size_t d = 0; d < extents.size(); ++d)
        (d < axis ? rows : inner) *= d == axis ? 1 : static_cast<size_t>(extents[d]);
    extents[axis] = 0;
    for (const TensorPtr& part : parts)
        extents[axis] += part->extents()[axis];
    auto out = std::make_shared<Tensor>(parts[0]->dtype(), std::move(extents));
    std::byte* to = out->bytes();
    for (size_t row = 0; row < rows; ++row)
        for (const TensorPtr& part : parts) {
            const size_t bytes = static_cast<size_t>(part->extents()[axis]) * inner;
            std::memcpy(to, part->bytes() + row * bytes, bytes);
            to += bytes;
        }
    return out;
}

} // namespace fuselage::planner
