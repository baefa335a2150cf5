// SPDX-License-Identifier: Apache-2.0
// Products of one operand as one body: their weights side by side, and behind the product each
// one's own elementwise work on its own columns. Says what can be joined and how it is written;
// whether that pays is join_products.cpp's.
#pragma once

#include "core/kernel/lower.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::planner {

/// MatMul, Gemm or Conv with constant weights, elementwise work with constants behind it, one
/// result of the product's own shape. Refers to the request that it was made of.
struct ProductBranch {
    const LowerRequest* request = nullptr;
    std::vector<NodeId> order; ///< of the body's nodes
    NodeId product;
    ValueId shared;    ///< the operand that is not constant, in the surrounding graph
    Extents result;    ///< extents
    size_t column = 0; ///< dimension of the result that the weights' columns are
    std::string key;   ///< branches with the same shared value and key can be one product

    int64_t columns() const { return result[column]; }
    /// Data of a constant of the body, or of an input that is constant around it; or null.
    TensorPtr constant(ValueId value) const;
};

/// None for any other body.
std::optional<ProductBranch> branchOf(const LowerRequest& request);

/// The same work behind the product, but for constants given by column.
bool sameEpilogue(const ProductBranch& a, const ProductBranch& b);

/// One input of a joined body: the shared value, or constants side by side along an axis.
struct JoinedInput {
    ValueId value; ///< in the surrounding graph; invalid: constants
    std::vector<TensorPtr> parts;
    size_t axis = 0;
};

struct JoinedBody {
    LowerRequest request; ///< without operands, constants and results
    std::vector<JoinedInput> inputs;
    Type type;        ///< of its one result
    size_t kinds = 1; ///< of epilogues
};

/// Branches of one shared value and one key, in the order of their columns.
JoinedBody joinBodies(const std::vector<const ProductBranch*>& branches);

/// All parts have the extents of the first but along the axis.
TensorPtr sideBySide(const std::vector<TensorPtr>& parts, size_t axis);

} // namespace fuselage::planner
