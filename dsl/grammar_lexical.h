// SPDX-License-Identifier: Apache-2.0
// Words, numbers and strings of the grammar, and the semantic actions that store what was parsed
// into a member. Included by each grammar_*.cpp, so that leaves are inlined.
#pragma once

#include "dsl/grammar.h"

namespace fuselage::dsl::grammar {

// Actions: the only thing that a grammar rule does is to store an attribute in a member.

template <auto member> struct SetAction {
    template <typename C> void operator()(C& context) const {
        x3::_val(context).*member = std::move(x3::_attr(context));
    }
};

template <auto member> struct PushAction {
    template <typename C> void operator()(C& context) const {
        (x3::_val(context).*member).push_back(std::move(x3::_attr(context)));
    }
};

template <auto member, auto value> struct MarkAction {
    template <typename C> void operator()(C& context) const { x3::_val(context).*member = value; }
};

template <auto member> inline constexpr SetAction<member> set{};
template <auto member> inline constexpr PushAction<member> push{};
template <auto member, auto value = true> inline constexpr MarkAction<member, value> mark{};

/// The whole attribute is the value of the rule.
inline constexpr auto become = [](auto& context) {
    x3::_val(context) = std::move(x3::_attr(context));
};

inline constexpr auto append = [](auto& context) {
    x3::_val(context).push_back(std::move(x3::_attr(context)));
};

inline const auto letterOrDigit = x3::char_("a-zA-Z0-9_");

inline auto keyword(const char* word) {
    return x3::lexeme[x3::lit(word) >> !letterOrDigit];
}

// Tables of words: the attribute is the word itself.

struct WordTable : x3::symbols<std::string> {
    WordTable(std::initializer_list<const char*> words = {}) {
        for (const char* word : words)
            add(word, word);
    }
};

inline auto wordOf(const WordTable& table) {
    return x3::lexeme[table >> !letterOrDigit];
}

inline const WordTable reservedWords{
    "and", "const", "false",   "flat",   "in",     "inf",  "input", "let",    "many", "none",
    "not", "or",    "ordered", "region", "scalar", "spec", "true",  "unless", "where"};

// Leaves.

/// Stores where a rule's text stands. (`on_success` sees no attribute in rules with actions.)
inline constexpr auto takeSpan = [](auto& context) {
    auto range = x3::_attr(context);
    x3::_val(context).span = stateOf(context).span(range.begin(), range.end());
};

template <typename Parser> auto spanned(const Parser& parser) {
    return x3::raw[parser][takeSpan];
}

inline constexpr auto takeRaw = [](auto& context) {
    auto range = x3::_attr(context);
    x3::_val(context).span = stateOf(context).span(range.begin(), range.end());
    x3::_val(context).text.assign(range.begin(), range.end());
};

/// The word of a table as a Name.
inline constexpr auto takeRawWord = [](auto& context) {
    x3::_val(context).text = std::move(x3::_attr(context));
};

struct LowerClass {};
struct UpperClass {};
struct OperatorNameClass {};
struct QualifiedClass {};
struct LetteredClass {};
struct AttributeNameClass {};
struct NumberClass {};
struct SignedNumberClass {};
struct StringClass {};
struct IntegerClass {};
struct SignedIntegerClass {};

inline const x3::rule<LowerClass, ast::Name> lower = "a name";
inline const auto lower_def = x3::lexeme[!(reservedWords >> !letterOrDigit) >>
                                         x3::raw[x3::char_("a-z") >> *letterOrDigit][takeRaw]];

inline const x3::rule<UpperClass, ast::Name> upper = "a name with a capital letter";
inline const auto upper_def = x3::lexeme[x3::raw[x3::char_("A-Z") >> *letterOrDigit][takeRaw]];

/// An operator with its domain: "com.acme.Gated". Behind a domain any letter may begin the name.
inline const auto segment = x3::char_("a-zA-Z_") >> *letterOrDigit;
inline const x3::rule<QualifiedClass, ast::Name> qualified = "an operator with its domain";
inline const auto qualified_def = x3::lexeme[x3::raw[x3::char_("a-zA-Z") >> *letterOrDigit >>
                                                     +(x3::lit('.') >> segment)][takeRaw]];

inline const x3::rule<OperatorNameClass, ast::Name> operatorName = "an operator";
inline const auto operatorName_def =
    (upper[become] >> !x3::lexeme[x3::lit('.') >> segment]) | qualified[become];

/// Of an attribute: as its operator has it, "axis" or "K".
inline const x3::rule<AttributeNameClass, ast::Name> attributeName = "a name";
inline const auto attributeName_def =
    x3::lexeme[!(reservedWords >> !letterOrDigit) >>
               x3::raw[x3::char_("a-zA-Z") >> *letterOrDigit][takeRaw]];

/// A word of any kind: phase names, zoo names, codes.
inline const x3::rule<LetteredClass, ast::Name> word = "a word";
inline const auto word_def = x3::lexeme[x3::raw[x3::char_("a-zA-Z") >> *letterOrDigit][takeRaw]];

inline constexpr auto takeText = [](auto& context) {
    auto range = x3::_attr(context);
    x3::_val(context).assign(range.begin(), range.end());
};

inline const auto digits = +x3::char_("0-9");
inline const auto numeral =
    (digits >> -(x3::char_('.') >> digits) >> -(x3::char_("eE") >> -x3::char_("+-") >> digits)) |
    (x3::lit("inf") >> !letterOrDigit);

/// A number as written; without sign in expressions, where `-` is an operator.
inline const x3::rule<NumberClass, std::string> number = "a number";
inline const auto number_def = x3::lexeme[x3::raw[numeral][takeText]];

inline const x3::rule<SignedNumberClass, std::string> signedNumber = "a number";
inline const auto signedNumber_def = x3::lexeme[x3::raw[-x3::char_('-') >> numeral][takeText]];

inline const x3::rule<IntegerClass, uint32_t> integer = "an integer";
inline const auto integer_def = x3::lexeme[x3::uint32[become] >> !letterOrDigit];

inline const x3::rule<SignedIntegerClass, int64_t> signedInteger = "an integer";
inline const auto signedInteger_def = x3::lexeme[x3::int64[become] >> !letterOrDigit];

inline constexpr auto putChar = [](auto& context) { x3::_val(context) += x3::_attr(context); };

inline constexpr auto putEscape = [](auto& context) {
    char c = x3::_attr(context);
    x3::_val(context) += c == 'n' ? '\n' : c == 't' ? '\t' : c;
};

inline const x3::rule<StringClass, std::string> quoted = "a string";
inline const auto quoted_def =
    x3::lexeme['"' >> *((x3::lit('\\') >> x3::char_)[putEscape] | (~x3::char_("\"\\"))[putChar]) >>
               '"'];

BOOST_SPIRIT_DEFINE(lower, upper, qualified, operatorName, attributeName, word, number,
                    signedNumber, integer, signedInteger, quoted)

inline bool isIntegerText(const std::string& numeralText) {
    return numeralText.find_first_not_of("-0123456789") == std::string::npos;
}

} // namespace fuselage::dsl::grammar
