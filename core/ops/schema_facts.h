// SPDX-License-Identifier: Apache-2.0
// What an operator's schema allows beyond names and counts: element types of operands and values of
// attributes. Says nothing where it knows nothing; checks of rules ask it.
#pragma once

#include "core/graph/dtype.h"
#include "core/graph/op.h"

#include <span>
#include <string_view>

namespace fuselage {

enum class ElementKind : uint8_t {
    Any,     ///< not restricted, or not known
    Number,  ///< neither bool nor string
    Float,   ///< of any width
    Integer, ///< of any width
    Byte,    ///< int8 or uint8
    Index,   ///< int32 or int64
    Truth,   ///< bool
};

ElementKind elementKindOf(Op op, size_t operand);

bool isOf(ElementKind kind, DType type);

/// "a float type": for messages.
const char* nameOf(ElementKind kind);

/// All values that a string attribute may have; empty: any, or not known.
std::span<const char* const> valuesOf(Op op, std::string_view attribute);

/// An integer attribute that is 0 or 1.
bool isFlag(std::string_view attribute);

} // namespace fuselage
