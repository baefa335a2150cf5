// SPDX-License-Identifier: Apache-2.0
// Smaller dimensions.
#include "app/batch/reduce/rebuild_internal.h"
#include "app/batch/reduce/smaller.h"
#include "core/passes/passes.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace fuselage::batch {

namespace {

/// Lists of whole numbers up to this length hold targets of Reshape, sizes of Split and the like.
constexpr int64_t shapeLike = 16;

struct ExtentChange {
    int64_t from = 0, to = 0;

    int64_t operator()(int64_t value) const { return value == from ? to : value; }
};

bool isShapeLike(const Tensor& tensor) {
    return tensor.dtype() == DType::Int64 && tensor.rank() <= 1 &&
           tensor.elementCount() <= shapeLike;
}

/// The corner of the tensor that the new extents leave.
Tensor corner(const Tensor& tensor, const ExtentChange& change) {
    Extents extents = tensor.extents();
    std::transform(extents.begin(), extents.end(), extents.begin(), change);
    Tensor out(tensor.dtype(), extents);
    const Extents strides = rowMajorStrides(tensor.extents());
    const size_t size = sizeOf(tensor.dtype());
    Extents at(extents.size(), 0);
    for (int64_t i = 0; i < out.elementCount(); ++i) {
        int64_t source = 0;
        for (size_t axis = 0; axis < at.size(); ++axis)
            source += at[axis] * strides[axis];
        std::memcpy(out.bytes() + static_cast<size_t>(i) * size,
                    tensor.bytes() + static_cast<size_t>(source) * size, size);
        for (size_t axis = at.size(); axis-- > 0;) {
            if (++at[axis] < extents[axis])
                break;
            at[axis] = 0;
        }
    }
    return out;
}

TensorPtr changed(const TensorPtr& tensor, const ExtentChange& change) {
    if (isShapeLike(*tensor)) {
        Tensor out = tensor->clone();
        for (int64_t i = 0; i < out.elementCount(); ++i)
            out.setInt(i, change(out.intAt(i)));
        return std::make_shared<const Tensor>(std::move(out));
    }
    const Extents& extents = tensor->extents();
    if (std::find(extents.begin(), extents.end(), change.from) == extents.end() ||
        tensor->dtype() == DType::String)
        return tensor;
    return std::make_shared<const Tensor>(corner(*tensor, change));
}

Type changed(Type type, const ExtentChange& change) {
    if (type.shape)
        for (Dim& dim : *type.shape)
            if (dim.isNumber() && dim.value() == change.from)
                dim = Dim(change.to);
    return type;
}

/// Numbers of a node that follow from an extent.
void changeAttributes(Node& node, const ExtentChange& change) {
    for (const char* name : {"group", "hidden_size"})
        if (node.attributes.has(name))
            node.attributes.set(name, change(node.attributes.integer(name)));
}

/// Shapes that were inferred for the old extents say nothing of the new ones.
Graph forgetShapes(Graph graph) {
    for (ValueId id : graph.values()) {
        const Value& value = graph.value(id);
        if (!value.producer.valid())
            continue;
        graph.setType(id, {value.type.kind, value.type.dtype, {}, value.type.ofSequence});
        graph.setSymbolicContents(id, nullptr);
    }
    return graph;
}

} // namespace

std::vector<int64_t> extents(const Graph& graph) {
    std::set<int64_t> found;
    for (ValueId id : graph.values()) {
        const Value& value = graph.value(id);
        if (value.producer.valid() || !value.type.shape)
            continue;
        if (value.constant && isShapeLike(*value.constant))
            continue;
        for (const Dim& dim : *value.type.shape)
            if (dim.isNumber() && dim.value() > 1)
                found.insert(dim.value());
    }
    return {found.rbegin(), found.rend()};
}

std::optional<Graph> withExtent(const Graph& graph, int64_t from, int64_t to) {
    const ExtentChange change{from, to};
    Graph plain = forgetShapes(graph.clone());
    for (NodeId id : plain.nodes())
        changeAttributes(plain.edit(id), change);
    return rebuild(
        plain, plain.nodes(), producedOutputs(plain), [&](Graph& out, const Value& value) {
            return value.constant ? out.addConstant(value.name, changed(value.constant, change))
                                  : out.addInput(value.name, changed(value.type, change));
        });
}

std::optional<Graph> withSymbols(const Graph& graph, int64_t value) {
    Graph out = forgetShapes(graph.clone());
    if (bindAllDimensions(out, {}, value).empty())
        return {};
    return checked(std::move(out));
}

} // namespace fuselage::batch
