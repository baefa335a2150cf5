// SPDX-License-Identifier: Apache-2.0
#include "core/passes/einsum.h"

#include "core/ops/einsum.h"
#include "core/passes/written_steps.h"

#include <algorithm>
#include <map>

namespace fuselage {

namespace {

using Indices = std::vector<int>;

bool has(const Indices& indices, int index) {
    return std::find(indices.begin(), indices.end(), index) != indices.end();
}

template <typename T> std::vector<T> chain(std::initializer_list<std::vector<T>> parts) {
    std::vector<T> out;
    for (const std::vector<T>& part : parts)
        out.insert(out.end(), part.begin(), part.end());
    return out;
}

/// The indices of a product of matrices: of both operands and the result, of one operand and the
/// result, of both operands alone.
struct Roles {
    Indices batch, m, n, k;
};

std::optional<Roles> rolesOf(const EinsumIndices& indices) {
    const Indices &a = indices.inputs[0], &b = indices.inputs[1];
    for (const Indices* own : {&a, &b})
        for (int index : *own)
            if (std::count(own->begin(), own->end(), index) > 1)
                return std::nullopt;
    Roles out;
    for (int index : indices.output)
        (has(a, index) ? has(b, index) ? out.batch : out.m : out.n).push_back(index);
    for (int index : a) {
        if (has(indices.output, index))
            continue;
        if (!has(b, index))
            return std::nullopt;
        out.k.push_back(index);
    }
    const bool sumsAlone = std::any_of(b.begin(), b.end(), [&](int index) {
        return !has(indices.output, index) && !has(a, index);
    });
    return sumsAlone ? std::nullopt : std::optional(std::move(out));
}

/// The extents of all indices; none where one is not known or differs.
std::optional<std::map<int, int64_t>> extentsOf(const Graph& graph, const Node& node,
                                                const EinsumIndices& indices) {
    std::map<int, int64_t> out;
    for (size_t i = 0; i < 2; ++i) {
        const auto extents = graph.value(node.inputs[i]).type.extents();
        for (size_t d = 0; extents && d < extents->size(); ++d)
            if (out.try_emplace(indices.inputs[i][d], (*extents)[d]).first->second != (*extents)[d])
                return std::nullopt;
        if (!extents)
            return std::nullopt;
    }
    return out;
}

class Writer {
public:
    Writer(Graph& graph, NodeId id, const EinsumIndices& indices, std::map<int, int64_t> extents)
        : m_steps(graph, graph.node(id)),
          m_dtype(graph.value(graph.node(id).outputs[0]).type.dtype), m_indices(indices),
          m_extents(std::move(extents)) {}

    /// The result, of the operands in the order of the roles.
    ValueId write(const Roles& roles, ValueId a, ValueId b) {
        const auto& [batch, m, n, k] = roles;
        const Indices result = chain({batch, m, n});
        const Extents batches = extents(batch);
        if (k.empty()) {
            a = placed(a, 0, chain({batch, m}), chain({batches, extents(m), ones(n)}));
            b = placed(b, 1, chain({batch, n}), chain({batches, ones(m), extents(n)}));
            return transposed(add(Op::Mul, {a, b}, extents(result)), result, m_indices.output);
        }
        // Any rows go with one right matrix.
        const Extents rows = batch.empty() && !m.empty() ? extents(m) : Extents{product(m)};
        const Extents sum{product(k)}, columns{product(n)};
        a = placed(a, 0, chain({batch, m, k}), chain({batches, rows, sum}));
        b = placed(b, 1, chain({batch, k, n}), chain({batches, sum, columns}));
        const Extents made = chain({batches, rows, columns});
        const ValueId y = reshaped(add(Op::MatMul, {a, b}, made), made, extents(result));
        return transposed(y, result, m_indices.output);
    }

    WrittenSteps& steps() { return m_steps; }

private:
    Extents extents(const Indices& indices) const {
        Extents out;
        for (int index : indices)
            out.push_back(m_extents.at(index));
        return out;
    }

    int64_t product(const Indices& indices) const {
        return elementCount(extents(indices)).value_or(0);
    }

    static Extents ones(const Indices& indices) { return Extents(indices.size(), 1); }

    ValueId add(Op op, std::vector<ValueId> inputs, const Extents& extents,
                Attributes attributes = {}) {
        return m_steps.add(op, std::move(inputs), tensorType(m_dtype, toShape(extents)),
                           std::move(attributes));
    }

    /// An operand in an order of its indices, under other extents.
    ValueId placed(ValueId x, size_t operand, const Indices& order, const Extents& to) {
        return reshaped(transposed(x, m_indices.inputs[operand], order), extents(order), to);
    }

    ValueId transposed(ValueId x, const Indices& from, const Indices& to) {
        if (from == to)
            return x;
        std::vector<int64_t> order;
        for (int index : to)
            order.push_back(std::find(from.begin(), from.end(), index) - from.begin());
        Attributes attributes;
        attributes.set("perm", order);
        return add(Op::Transpose, {x}, extents(to), std::move(attributes));
    }

    ValueId reshaped(ValueId x, const Extents& from, const Extents& to) {
        return from == to ? x : add(Op::Reshape, {x, m_steps.constant(Tensor::ofInts(to))}, to);
    }

    WrittenSteps m_steps;
    DType m_dtype;
    const EinsumIndices& m_indices;
    std::map<int, int64_t> m_extents;
};

} // namespace

bool writeOutEinsum(Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    if (node.op != Op::Einsum || node.explicitInputs != 2 || !node.inputs[0].valid() ||
        !node.inputs[1].valid() || !node.outputs[0].valid())
        return false;
    const ValueId a = node.inputs[0], b = node.inputs[1];
    const Type &left = graph.value(a).type, &right = graph.value(b).type;
    if (!left.shape || !right.shape || !isFloat(left.dtype) || left.dtype != right.dtype)
        return false;
    const auto indices =
        einsumIndices(node.attributes.string("equation"), {left.rank(), right.rank()});
    const auto roles = indices ? rolesOf(*indices) : std::nullopt;
    auto extents = roles ? extentsOf(graph, node, *indices) : std::nullopt;
    if (!extents)
        return false;
    Extents all;
    for (const auto& [index, extent] : *extents)
        all.push_back(extent);
    if (elementCount(all).value_or(0) == 0) // Reshape reads a 0 as something else
        return false;
    Writer writer(graph, id, *indices, std::move(*extents));
    const ValueId made[] = {writer.write(*roles, a, b)};
    writer.steps().replace(id, made);
    return true;
}

} // namespace fuselage
