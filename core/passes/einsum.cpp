// SPDX-License-Identifier: Apache-2.0
#include "core/passes/einsum.h"

#include "core/ops/einsum.h"
#include "core/passes/written_steps.h"

#include <algorithm>
#include <limits>
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

struct Operand {
    ValueId value;
    Indices indices;
};

/// The extents of all indices; none where one is not known, differs or stands twice in an operand.
std::optional<std::map<int, int64_t>> extentsOf(const Graph& graph, const Node& node,
                                                const EinsumIndices& indices) {
    std::map<int, int64_t> out;
    for (size_t i = 0; i < indices.inputs.size(); ++i) {
        const Indices& own = indices.inputs[i];
        const auto extents = graph.value(node.inputs[i]).type.extents();
        for (size_t d = 0; extents && d < extents->size(); ++d)
            if (std::count(own.begin(), own.end(), own[d]) > 1 ||
                out.try_emplace(own[d], (*extents)[d]).first->second != (*extents)[d])
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

    /// The first operand with the second one, what they make with the third, and so on; none where
    /// that makes a value much larger than any that is there.
    bool canMultiply() const {
        constexpr int64_t most = int64_t(1) << 26;
        int64_t largest = std::max(most, product(m_indices.output));
        for (const Indices& own : m_indices.inputs)
            largest = std::max(largest, product(own));
        Indices made = m_indices.inputs[0];
        for (size_t i = 1; i < m_indices.inputs.size(); ++i) {
            const Roles roles = rolesOf(made, m_indices.inputs[i], i);
            made = chain({roles.batch, roles.m, roles.n});
            if (product(made) > largest)
                return false;
        }
        return true;
    }

    ValueId write(const std::vector<ValueId>& inputs) {
        Operand made = summed(inputs, 0);
        for (size_t i = 1; i < inputs.size(); ++i)
            made = multiplied(made, summed(inputs, i), i);
        const ValueId y = transposed(made.value, made.indices, m_indices.output);
        const bool isInput = y == inputs[0]; // whose name the result must not take
        return isInput ? add(Op::Identity, {y}, extents(m_indices.output)) : y;
    }

    WrittenSteps& steps() { return m_steps; }

private:
    /// Whether the result or an operand behind number `last` has it.
    bool isWanted(int index, size_t last) const {
        return has(m_indices.output, index) ||
               std::any_of(m_indices.inputs.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                           m_indices.inputs.end(),
                           [&](const Indices& own) { return has(own, index); });
    }

    /// Of a product with operand number `last`. An index that is summed in one of them alone was
    /// summed before.
    Roles rolesOf(const Indices& a, const Indices& b, size_t last) const {
        Roles out;
        for (int index : a)
            if (has(b, index))
                (isWanted(index, last) ? out.batch : out.k).push_back(index);
            else if (isWanted(index, last))
                out.m.push_back(index);
        for (int index : b)
            if (!has(a, index) && isWanted(index, last))
                out.n.push_back(index);
        return out;
    }

    /// An operand without the indices that only it has.
    Operand summed(const std::vector<ValueId>& inputs, size_t number) {
        const Indices& own = m_indices.inputs[number];
        std::vector<int64_t> axes;
        Indices kept;
        for (size_t d = 0; d < own.size(); ++d) {
            bool alone = !has(m_indices.output, own[d]);
            for (size_t i = 0; i < m_indices.inputs.size(); ++i)
                alone = alone && (i == number || !has(m_indices.inputs[i], own[d]));
            if (alone)
                axes.push_back(static_cast<int64_t>(d));
            else
                kept.push_back(own[d]);
        }
        if (axes.empty())
            return {inputs[number], own};
        Attributes attributes;
        attributes.set("keepdims", int64_t(0));
        return {add(Op::ReduceSum, {inputs[number], m_steps.constant(Tensor::ofInts(axes))},
                    extents(kept), std::move(attributes)),
                kept};
    }

    Operand multiplied(const Operand& a, const Operand& b, size_t last) {
        const auto [batch, m, n, k] = rolesOf(a.indices, b.indices, last);
        const Indices result = chain({batch, m, n});
        const Extents batches = extents(batch);
        if (k.empty()) {
            const ValueId left =
                placed(a, chain({batch, m}), chain({batches, extents(m), ones(n)}));
            const ValueId right =
                placed(b, chain({batch, n}), chain({batches, ones(m), extents(n)}));
            return {add(Op::Mul, {left, right}, extents(result)), result};
        }
        // Any rows go with one right matrix.
        const Extents rows = batch.empty() && !m.empty() ? extents(m) : Extents{product(m)};
        const Extents sum{product(k)}, columns{product(n)};
        const ValueId left = placed(a, chain({batch, m, k}), chain({batches, rows, sum}));
        const ValueId right = placed(b, chain({batch, k, n}), chain({batches, sum, columns}));
        const Extents made = chain({batches, rows, columns});
        return {reshaped(add(Op::MatMul, {left, right}, made), made, extents(result)), result};
    }

    Extents extents(const Indices& indices) const {
        Extents out;
        for (int index : indices)
            out.push_back(m_extents.at(index));
        return out;
    }

    int64_t product(const Indices& indices) const {
        return elementCount(extents(indices)).value_or(std::numeric_limits<int64_t>::max());
    }

    static Extents ones(const Indices& indices) { return Extents(indices.size(), 1); }

    ValueId add(Op op, std::vector<ValueId> inputs, const Extents& extents,
                Attributes attributes = {}) {
        return m_steps.add(op, std::move(inputs), tensorType(m_dtype, toShape(extents)),
                           std::move(attributes));
    }

    /// An operand in an order of its indices, under other extents.
    ValueId placed(const Operand& x, const Indices& order, const Extents& to) {
        return reshaped(transposed(x.value, x.indices, order), extents(order), to);
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
    if (node.op != Op::Einsum || node.explicitInputs == 0 || !node.outputs[0].valid())
        return false;
    const std::vector<ValueId> inputs(node.inputs.begin(),
                                      node.inputs.begin() + node.explicitInputs);
    std::vector<size_t> ranks;
    for (ValueId input : inputs) {
        const Type* type = input.valid() ? &graph.value(input).type : nullptr;
        if (!type || !type->shape || !isFloat(type->dtype) ||
            type->dtype != graph.value(inputs[0]).type.dtype)
            return false;
        ranks.push_back(type->rank());
    }
    const auto indices = einsumIndices(node.attributes.string("equation"), ranks);
    auto extents = indices ? extentsOf(graph, node, *indices) : std::nullopt;
    if (!extents)
        return false;
    Extents all;
    for (const auto& [index, extent] : *extents)
        all.push_back(extent);
    if (elementCount(all).value_or(0) == 0) // Reshape reads a 0 as something else
        return false;
    Writer writer(graph, id, *indices, std::move(*extents));
    if (!writer.canMultiply())
        return false;
    const ValueId made = writer.write(inputs);
    writer.steps().replace(id, std::span(&made, 1));
    return true;
}

} // namespace fuselage
