// SPDX-License-Identifier: Apache-2.0
// What an operand of a generated node should look like so that the node is valid: one rule of thumb
// for each operator that is not elementwise. A wish that is wrong costs a sample, never a verdict.
#pragma once

#include "app/pipeline/prove/choices.h"
#include "core/graph/graph.h"

#include <optional>
#include <vector>

namespace fuselage::app {

struct Wish {
    std::optional<DType> dtype;
    std::optional<Extents> extents;
    bool constant = false;                        ///< shapes, axes and the like
    bool positive = false;                        ///< variances, scales of quantisation
    bool broadcast = false;                       ///< may also be smaller, or widen the result
    std::optional<std::vector<int64_t>> contents; ///< of an integer constant
    std::optional<std::vector<double>> numbers;   ///< of a float constant
};

/// What is known when an operand is made.
struct OperandContext {
    const Node& node;                       ///< operator and attributes
    std::vector<std::optional<Type>> types; ///< of the operands made so far, by position
    std::optional<Extents> result;          ///< what the node should make
    Choices& choices;

    /// Extents of an operand that is there.
    std::optional<Extents> extents(size_t operand) const;
    /// 1, 2, 3 ...: small, odd ones too.
    int64_t dimension() { return 1 + choices.pick(5); }
};

Wish operandWish(OperandContext& context, size_t operand);

/// Extents that broadcast with these: the same, some ones, fewer, or one more in front.
Extents broadcastOf(const Extents& extents, Choices& choices);

} // namespace fuselage::app
