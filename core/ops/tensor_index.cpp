// SPDX-License-Identifier: Apache-2.0
#include "core/ops/tensor_index.h"

#include "core/support/memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

Failure badInput(const Node& node, const std::string& message) {
    return failure("reference.input", fmt::format("{}: {}", nameOf(node.op), message), node.name);
}

std::optional<size_t> normalizedAxis(int64_t axis, size_t rank) {
    const auto signedRank = static_cast<int64_t>(rank);
    if (axis < -signedRank || axis >= signedRank)
        return std::nullopt;
    return static_cast<size_t>(axis < 0 ? axis + signedRank : axis);
}

bool coversElsewhere(const Extents& data, const Extents& indices, size_t axis) {
    if (indices.size() != data.size())
        return false;
    for (size_t d = 0; d < data.size(); ++d)
        if (d != axis && indices[d] > data[d])
            return false;
    return true;
}

std::optional<std::vector<size_t>> normalizedAxes(const std::vector<int64_t>& axes, size_t rank) {
    std::vector<size_t> out;
    std::vector<bool> seen(rank, false);
    for (int64_t axis : axes) {
        auto normalized = normalizedAxis(axis, rank);
        if (!normalized || seen[*normalized])
            return std::nullopt;
        seen[*normalized] = true;
        out.push_back(*normalized);
    }
    return out;
}

std::optional<Extents> broadcastExtents(const Extents& a, const Extents& b) {
    Extents out(std::max(a.size(), b.size()));
    for (size_t i = 0; i < out.size(); ++i) {
        const int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
        const int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (left != right && left != 1 && right != 1)
            return std::nullopt;
        out[out.size() - 1 - i] = left == 1 ? right : left;
    }
    return out;
}

std::optional<Shape> broadcastShapes(const Shape& a, const Shape& b) {
    Shape out(std::max(a.size(), b.size()));
    for (size_t i = 0; i < out.size(); ++i) {
        const Dim left = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
        const Dim right = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
        Dim& dim = out[out.size() - 1 - i];
        if (left == right || right == Dim(1))
            dim = left;
        else if (left == Dim(1))
            dim = right;
        else if (left.isNumber() && right.isNumber())
            return std::nullopt;
        else if (left.isNumber()) // the other side must be 1 or the same number
            dim = left;
        else if (right.isNumber())
            dim = right;
    }
    return out;
}

Extents broadcastStrides(const Extents& from, const Extents& to) {
    const Extents own = rowMajorStrides(from);
    Extents out(to.size(), 0);
    for (size_t i = 0; i < from.size() && i < to.size(); ++i)
        if (from[from.size() - 1 - i] != 1)
            out[to.size() - 1 - i] = own[from.size() - 1 - i];
    return out;
}

bool fitsReference(const Extents& extents) {
    const auto count = elementCount(extents);
    return count && *count <= maxReferenceElements &&
           fitsInMemory(*count * static_cast<int64_t>(sizeof(double)));
}

Result<ReferenceValue> allocateResult(const Node& node, DType dtype, Extents extents) {
    if (std::any_of(extents.begin(), extents.end(), [](int64_t extent) { return extent < 0; }))
        return badInput(node,
                        fmt::format("a result of extents {} has a negative one", text(extents)));
    if (!fitsReference(extents))
        return badInput(node, fmt::format("a result of extents {} is too large", text(extents)));
    if (dtype == DType::Undefined)
        return badInput(node, "the element type of the result is undefined");
    return ReferenceValue::tensor(dtype, std::move(extents));
}

Result<ReferenceValue> joinAlong(const Node& node, size_t axis, const Extents& extents,
                                 const std::vector<const ReferenceValue*>& parts) {
    auto out = allocateResult(node, parts[0]->dtype, extents);
    if (!out)
        return out;
    const int64_t outer = countOf(extents, 0, axis);
    const int64_t row = countOf(extents, axis, extents.size());
    int64_t begin = 0;
    for (const ReferenceValue* part : parts) {
        const int64_t piece = outer ? part->count() / outer : 0;
        onElements(*part, *out, [&](const auto& from, auto& to) {
            for (int64_t i = 0; i < outer; ++i)
                std::copy_n(from.begin() + i * piece, piece, to.begin() + i * row + begin);
        });
        begin += piece;
    }
    return out;
}

std::vector<int64_t> intsOf(const ReferenceValue& value) {
    if (!isFloat(value.dtype))
        return value.ints;
    std::vector<int64_t> out(value.floats.size());
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = value.intAt(static_cast<int64_t>(i));
    return out;
}

int64_t countOf(const Extents& extents, size_t begin, size_t end) {
    int64_t count = 1;
    for (size_t i = begin; i < end; ++i)
        count *= extents[i];
    return count;
}

bool sameClass(const ReferenceValue& a, const ReferenceValue& b) {
    const auto classOf = [](DType type) {
        return type == DType::String ? 2 : isFloat(type) ? 1 : 0;
    };
    return classOf(a.dtype) == classOf(b.dtype);
}

StridedWalk::StridedWalk(Extents extents, std::vector<Extents> strides)
    : m_extents(std::move(extents)), m_strides(std::move(strides)), m_index(m_extents.size(), 0),
      m_offsets(m_strides.size(), 0), m_count(elementCount(m_extents).value_or(0)) {}

void StridedWalk::next() {
    ++m_position;
    for (size_t axis = m_extents.size(); axis-- > 0;) {
        if (++m_index[axis] < m_extents[axis]) {
            for (size_t k = 0; k < m_strides.size(); ++k)
                m_offsets[k] += m_strides[k][axis];
            return;
        }
        for (size_t k = 0; k < m_strides.size(); ++k)
            m_offsets[k] -= m_strides[k][axis] * (m_extents[axis] - 1);
        m_index[axis] = 0;
    }
}

Result<void> checkTensorInputs(const Node& node, ReferenceInputs inputs) {
    const OpRow& row = rowOf(node.op);
    for (size_t i = 0; i < static_cast<size_t>(row.minInputs); ++i)
        if (!inputAt(inputs, i))
            return badInput(node, fmt::format("input {} is missing", i));
    for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] && inputs[i]->kind != TypeKind::Tensor)
            return badInput(node, fmt::format("input {} is not a tensor", i));
    return {};
}

std::vector<ReferenceValue> trimmed(const Node& node, std::vector<ReferenceValue> results) {
    if (results.size() > node.outputs.size() && !node.outputs.empty())
        results.resize(node.outputs.size());
    return results;
}

Result<std::vector<ReferenceValue>> single(Result<ReferenceValue> result) {
    if (!result)
        return failure(result.error());
    std::vector<ReferenceValue> out;
    out.push_back(std::move(*result));
    return out;
}

} // namespace fuselage
