// SPDX-License-Identifier: Apache-2.0
// Expressions of compiled rules: conditions, attribute tests, dimensions, gates and the right-hand
// sides of rewrites. Plain data; core/rewrite/evaluate computes them with three-valued logic.
#pragma once

#include "core/graph/op.h"
#include "core/support/source.h"

#include <memory>
#include <string>
#include <vector>

namespace fuselage {

struct NamedExpression;
struct CustomOperator;

struct Expression {
    enum class Kind : uint8_t {
        None,      ///< `none`
        Number,    ///< number; `isInteger` tells 1 from 1.0
        Text,      ///< string literal in `text`
        List,      ///< [a, b, ...] in args
        Slot,      ///< a value bound in the match: slot
        SlotList,  ///< w[]: all instances that a `many` collected for slot
        Dim,       ///< a dimension variable: slot indexes Rule::dims
        DimList,   ///< N[]: all instances that a `many` collected for a dimension
        Let,       ///< a `let` of the block: slot indexes Rule::lets
        Root,      ///< a named root without slot: gain, device, total (name in text)
        Member,    ///< args[0].text
        Index,     ///< args[0][args[1]]
        Call,      ///< text(args..., named...): a function of core/rewrite/functions
        Where,     ///< args[0] where slot is bound, else none
        Attribute, ///< of the node that makes slot, as it is written there: text; none without it
        Parameter, ///< what the node that makes slot does, wherever its opset keeps it: text
        Slice,     ///< args[0][args[1]:args[2]]; None for an end that is left out
        Node,      ///< op(args...)[named...]: only in rewrites, builds a node
        Unary,     ///< text is "-" or "not"
        Binary,    ///< text is one of + - * / % == != < <= > >= and or in ??
    };

    Kind kind = Kind::None;
    bool isInteger = false;
    double number = 0;
    uint32_t slot = 0;
    Op op = Op::Unknown;
    std::shared_ptr<const CustomOperator> custom; ///< of a Node of Op::Unknown: which one
    std::string text;
    std::vector<Expression> args;
    std::vector<NamedExpression> named; ///< named arguments or attributes
    Span span;
};

struct NamedExpression {
    std::string name;
    Expression value;
};

} // namespace fuselage
