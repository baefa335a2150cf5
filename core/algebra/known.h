// SPDX-License-Identifier: Apache-2.0
// What an expression of a rule is when nothing is known but the rule: a number with symbols in it,
// a list, a value of the pattern, or a word that stands for itself.
#pragma once

#include "core/algebra/expr.h"
#include "core/graph/dtype.h"

#include <optional>

namespace fuselage::algebra {

struct Known {
    enum class Kind : uint8_t { None, Word, Truth, Text, Number, List, Value };

    Kind kind = Kind::None;
    std::string text = "none";     ///< equal texts of words, texts and lists are equal
    std::optional<double> literal; ///< Number: as written, or 0 and 1 of Truth
    Expr number;                   ///< Number
    std::vector<Known> items;      ///< List
    size_t value = 0;              ///< Value: index of the table of values

    bool isNone() const { return kind == Kind::None; }

    static Known word(std::string text);
    static Known ofText(std::string text);
    static Known truth(bool value);
    static Known ofNumber(Expr number, std::string text, std::optional<double> literal = {});
    static Known list(std::vector<Known> items);
    static Known ofValue(size_t value);
};

/// A tensor of the pattern or of the rewrite.
struct SymbolicValue {
    Expr element;
    std::string name;              ///< "x"
    std::optional<size_t> rank;    ///< when the rule fixes it
    std::vector<std::string> dims; ///< of that rank, in words; empty: not known
    std::optional<DType> type;     ///< the same
    size_t kind = 0;               ///< values of one kind have one element type
    std::optional<size_t> maker;   ///< index of the table of nodes
    size_t output = 0;             ///< of the maker
    bool isConstant = false;
    bool isUniform = false;  ///< all elements are equal
    bool isComputed = false; ///< by arithmetic of the pattern
};

} // namespace fuselage::algebra
