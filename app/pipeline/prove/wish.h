// SPDX-License-Identifier: Apache-2.0
// What an operand of a generated node should look like so that the node is valid: one rule of thumb
// for each operator that is not elementwise. A wish that is wrong costs a sample, never a verdict.
#pragma once

#include "app/pipeline/prove/choices.h"
#include "app/pipeline/prove/regroup.h"
#include "core/graph/graph.h"

#include <optional>
#include <vector>

namespace fuselage::app {

struct Wish {
    enum class Presence : uint8_t { Free, LeftOut, Needed };

    std::optional<DType> dtype;
    std::optional<Extents> extents;
    bool constant = false;                        ///< shapes, axes and the like
    bool positive = false;                        ///< variances, scales of quantisation
    bool broadcast = false;                       ///< may also be smaller, or widen the result
    bool regroups = false;                        ///< any extents with the same elements will do
    bool packed = false;                          ///< bytes of any bits
    bool stored = false;                          ///< integers that stand for numbers
    bool divides = false;                         ///< integers of which none may be 0
    Presence presence = Presence::Free;           ///< of an operand that nobody names
    std::optional<std::vector<int64_t>> contents; ///< of an integer constant
    std::optional<std::vector<double>> numbers;   ///< of a float constant
    std::optional<double> least;                  ///< of a scalar constant, mostly
    /// Integers that are places among so many, counted from either end, however they are made.
    std::optional<int64_t> places;
};

/// What is known when an operand is made.
struct OperandContext {
    const Node& node;                       ///< operator and attributes
    std::vector<std::optional<Type>> types; ///< of the operands made so far, by position
    std::optional<Extents> result;          ///< what the node should make
    Choices& choices;
    const std::vector<int64_t>& named; ///< sizes that `verify` names: another operand may have one
    Partings& partings;
    bool regroups = false;              ///< any result with the same elements will do
    int64_t leastSpatial = 0;           ///< rows and columns that the pattern's own windows take
    std::optional<int64_t> places = {}; ///< that the node's result should be (Wish)

    /// Extents of an operand that is there.
    std::optional<Extents> extents(size_t operand) const;
    /// 1, 2, 3 ...: small, odd ones too.
    int64_t dimension() {
        if (!named.empty() && choices.pick(2) == 1)
            return named[choices.pick(static_cast<uint32_t>(named.size()))];
        return 1 + choices.pick(5);
    }
};

Wish operandWish(OperandContext& context, size_t operand);

/// Whether elements of the node's result are elements of this operand.
bool passesElements(Op op, size_t operand);

/// Of attentions and of products with packed weights.
Wish transformerWish(OperandContext& context, size_t operand);

/// Attributes that say again what the operands show, where they are not given yet.
void repeatOperands(const OperandContext& context, Node& node);

/// Extents that broadcast with these: the same, some ones, fewer, or one more in front.
Extents broadcastOf(const Extents& extents, Choices& choices);

} // namespace fuselage::app
