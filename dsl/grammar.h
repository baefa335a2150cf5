// SPDX-License-Identifier: Apache-2.0
// The rules of the grammar that more than one file uses, and the types that the explicit
// instantiations share. Private to dsl/grammar_*.cpp and dsl/parse.cpp.
#pragma once

#include "dsl/annotate.h"
#include "dsl/ast.h"

#include <boost/spirit/home/x3.hpp>

namespace fuselage::dsl::grammar {

namespace x3 = boost::spirit::x3;

using Iterator = const char*;

/// White space and comments.
struct Skipper : x3::parser<Skipper> {
    using attribute_type = x3::unused_type;
    static const bool has_attribute = false;

    template <typename Context, typename RuleContext, typename Attribute>
    bool parse(Iterator& first, const Iterator& last, const Context&, const RuleContext&,
               Attribute&) const {
        Iterator at = first;
        while (at != last) {
            if (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
                ++at;
            else if (*at == '/' && at + 1 != last && at[1] == '/')
                while (at != last && *at != '\n')
                    ++at;
            else
                break;
        }
        bool moved = at != first;
        first = at;
        return moved;
    }
};

inline constexpr Skipper skipper{};

using PhraseContext = x3::phrase_parse_context<Skipper>::type;
using Context = x3::context<StateTag, std::reference_wrapper<ParseState>, PhraseContext>;

struct ExpressionClass {};
struct TypeClass {};
struct RangeClass {};
struct ChoiceClass {};
struct BlockClass {};
struct ClauseClass : Recovering<false> {};
struct FileClass {};

inline const x3::rule<ExpressionClass, ast::Expr> expression = "an expression";
inline const x3::rule<TypeClass, ast::TypeSpec> typeSpec = "a type";
inline const x3::rule<RangeClass, ast::Range> range = "a range";
inline const x3::rule<ChoiceClass, ast::Choice> choice = "a pattern";
inline const x3::rule<BlockClass, std::vector<ast::Statement>> block = "a block";
inline const x3::rule<ClauseClass, ast::Clause> clause = "a clause";
inline const x3::rule<FileClass, ast::File> file = "a file";

BOOST_SPIRIT_DECLARE(decltype(expression), decltype(typeSpec), decltype(range), decltype(choice),
                     decltype(block), decltype(clause), decltype(file))

} // namespace fuselage::dsl::grammar
