// SPDX-License-Identifier: Apache-2.0
// Values that attributes may have. ONNX publishes them in sentences only, so they are rows here;
// what it publishes as data is op_schema.h's. Says nothing where it knows nothing; checks of rules
// ask it.
#pragma once

#include "core/graph/op.h"

#include <span>
#include <string_view>

namespace fuselage {

/// All values that a string attribute may have; empty: any, or not known.
std::span<const char* const> valuesOf(Op op, std::string_view attribute);

/// A string attribute of some operator may have that value.
bool isValueOfSome(std::string_view text);

/// An integer attribute that is 0 or 1.
bool isFlag(std::string_view attribute);

/// An operator of files that a graph ready for rules hardly has: loading or folding constants puts
/// something else in its place.
struct Replaced {
    Op op;
    const char* by;      ///< in words: "its operand"
    const char* instead; ///< what a pattern says, an imperative: "match Resize"
};

/// Null: the operator stays as it is.
const Replaced* replacementOf(Op op);

} // namespace fuselage
