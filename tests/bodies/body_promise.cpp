// SPDX-License-Identifier: Apache-2.0
#include "tests/bodies/body_promise.h"

#include "core/ops/op_table.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace fuselage::bodies {

namespace {

bool keepsWhole(Op op) {
    switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Neg:
    case Op::Abs:
    case Op::Relu:
    case Op::Max:
    case Op::Min:
    case Op::Expand:
    case Op::MatMul:
    case Op::Gemm:
    case Op::Conv:
    case Op::ConvTranspose:
    case Op::ReduceSum:
    case Op::ReduceMax:
    case Op::MaxPool:
        return true;
    default:
        return hasTrait(op, View | DataMovement);
    }
}

bool sums(Op op) {
    return hasTrait(op, ContractionOp | Reduction | Normalization | Pooling);
}

} // namespace

bool sumsWholeNumbers(const Graph& graph) {
    std::set<ValueId> other; // values that may be no whole numbers
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        const bool whole = std::none_of(node.inputs.begin(), node.inputs.end(),
                                        [&](ValueId input) { return other.count(input) > 0; });
        if (hasTrait(node.op, Normalization) || (sums(node.op) && !whole))
            return false;
        if (!whole || !keepsWhole(node.op))
            other.insert(node.outputs.begin(), node.outputs.end());
    }
    return true;
}

void makeWhole(std::vector<Tensor>& inputs) {
    for (Tensor& input : inputs)
        if (input.dtype() == DType::Float32)
            for (float& value : input.as<float>())
                value = std::clamp(std::nearbyint(2 * value), -2.0F, 2.0F);
}

bool sameNumbers(const Tensor& a, const Tensor& b) {
    bool same = a.dtype() == b.dtype() && a.extents() == b.extents();
    for (int64_t i = 0; same && i < a.elementCount(); ++i)
        same = a.at(i) == b.at(i);
    return same;
}

} // namespace fuselage::bodies
