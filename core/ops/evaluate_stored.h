// SPDX-License-Identifier: Apache-2.0
// Running one node on tensors as they are stored, as constants are: what only moves elements copies
// bytes, what is elementwise goes piece by piece, and only other operators widen whole operands to
// eight bytes an element. Knows no graph.
#pragma once

#include "core/ops/move_tensor.h"

#include <map>
#include <tuple>

namespace fuselage {

/// An operand of a node. Without a tensor only its type is read; without a type it is omitted.
struct StoredOperand {
    TensorPtr tensor;
    DType dtype = DType::Undefined;
    Extents extents;

    StoredOperand() = default;

    StoredOperand(TensorPtr from) // NOLINT(google-explicit-constructor): a tensor is an operand
        : tensor(std::move(from)), dtype(tensor ? tensor->dtype() : DType::Undefined) {
        if (tensor)
            extents = tensor->extents();
    }

    StoredOperand(DType type, Extents of) : dtype(type), extents(std::move(of)) {}
};

/// Tensors whose elements were moved: one for all nodes that ask for the same, such as those of
/// both branches of an If. Keeps the tensors.
class MovedTensors {
public:
    TensorPtr take(const TensorPtr& from, const ElementWindow& window);

private:
    struct Moved {
        TensorPtr from, to; ///< `from` keeps its address taken
    };

    std::map<std::tuple<const std::byte*, DType, ElementWindow>, Moved> m_moved;
};

/// Of constants alone it is left as it is: the floats of quantised weights are four times as large
/// and up, and rules want to see what is stored. (Weights that are quantised in the graph become
/// small.)
inline bool keepsStored(Op op) {
    return op == Op::DequantizeLinear;
}

/// The node's results, null where one is no tensor. No subgraphs and no randomness. Errors are
/// those of evaluateNode.
Result<std::vector<TensorPtr>> evaluateStored(const Node& node,
                                              const std::vector<StoredOperand>& operands,
                                              ThreadPool& threads, MovedTensors& moved);
Result<std::vector<TensorPtr>>
evaluateStored(const Node& node, const std::vector<StoredOperand>& operands, ThreadPool& threads);

} // namespace fuselage
