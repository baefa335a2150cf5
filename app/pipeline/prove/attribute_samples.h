// SPDX-License-Identifier: Apache-2.0
// Values for the attributes of a generated node: what the rule's tests demand, and everything the
// schema allows where the rule says nothing. The rule is to hold for those too.
#pragma once

#include "app/pipeline/prove/choices.h"
#include "core/ops/op_table.h"

#include <optional>

namespace fuselage::app {

struct AttributeContext {
    Op op = Op::Unknown;         ///< one that an `op` item declares
    size_t rank = 0;             ///< of the first operand
    std::optional<DType> wanted; ///< of the result
    Choices& choices;
    uint64_t point = 0; ///< names the attribute among the structural decisions; 0: it is none
};

/// All values that an attribute may have, what it has when left out first; empty: too many to list.
std::vector<AttributeValue> allValuesOf(Op op, const AttributeSchema& schema);

/// A value for an attribute that no test names; the schema's default is the simplest. None leaves
/// it out. Which attributes have other values is decided so that all pairs are met.
std::optional<AttributeValue> freeAttribute(const AttributeContext& context,
                                            const AttributeSchema& schema);

} // namespace fuselage::app
