// SPDX-License-Identifier: Apache-2.0
// Conditions of gates and escapes: texts are compared with texts, and what stands there is true or
// false. Only what can be told from the rule alone is told.
#include "core/rewrite/members.h"
#include "dsl/compile_internal.h"
#include "dsl/names_elsewhere.h"
#include "dsl/suggest.h"

#include <algorithm>
#include <initializer_list>
#include <sstream>

namespace fuselage::dsl {

namespace {

enum class Sort : uint8_t { Open, Truth, Number, Text, Nothing };

bool isOneOf(const std::string& word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

Sort sortOf(const Expression& expr) {
    using Kind = Expression::Kind;
    switch (expr.kind) {
    case Kind::None:
        return Sort::Nothing;
    case Kind::Number:
        return Sort::Number;
    case Kind::Text:
        return Sort::Text;
    case Kind::Unary:
        return expr.text == "not" ? Sort::Truth : Sort::Number;
    case Kind::Binary:
        return isOneOf(expr.text, {"==", "!=", "<", "<=", ">", ">=", "and", "or", "in"})
                   ? Sort::Truth
               : expr.text == "??" ? Sort::Open
                                   : Sort::Number;
    case Kind::Member: {
        if (expr.args[0].kind == Kind::Slot)
            return expr.text == "rank"    ? Sort::Number
                   : expr.text == "dtype" ? Sort::Text
                                          : Sort::Open;
        const RootRow* row =
            expr.args[0].kind == Kind::Root ? findRoot(expr.args[0].text, expr.text) : nullptr;
        if (!row)
            return Sort::Open;
        return std::string_view(row->unit) == "text" ? Sort::Text : Sort::Number;
    }
    default:
        return Sort::Open;
    }
}

const char* nameOf(Sort sort) {
    switch (sort) {
    case Sort::Number:
        return "a number";
    case Sort::Text:
        return "a text";
    case Sort::Nothing:
        return "`none`";
    default:
        return "true or false";
    }
}

/// What a member can be, where that is one of some texts; empty: anything.
std::vector<std::string> choicesOf(const Expression& member) {
    std::vector<std::string> out;
    if (member.args[0].kind == Expression::Kind::Slot && member.text == "dtype")
        for (int type = static_cast<int>(DType::Float32); type <= static_cast<int>(DType::String);
             ++type)
            out.emplace_back(fuselage::nameOf(static_cast<DType>(type)));
    const RootRow* row = member.args[0].kind == Expression::Kind::Root
                             ? findRoot(member.args[0].text, member.text)
                             : nullptr;
    std::istringstream words(row ? row->choices : "");
    for (std::string word; words >> word;)
        out.push_back(word);
    return out;
}

} // namespace

void RuleCompiler::checkCondition(const Expression& condition) {
    if (m_errors > 0)
        return; // what is wrong in there stands as `none`
    if (const Sort sort = sortOf(condition);
        sort == Sort::Number || sort == Sort::Text || sort == Sort::Nothing) {
        Diagnostic& d = error("E0219", condition.span,
                              std::string("this is ") + nameOf(sort) + ", not true or false");
        d.fix = sort == Sort::Number ? "compare it: `... > 0`"
                : sort == Sort::Text ? "compare it: `... == \"cpu\"`"
                                     : "write a condition";
        return;
    }
    checkComparisons(condition);
}

/// A figure that can only be some texts is compared with one of them.
void RuleCompiler::checkChoice(const Expression& figure, const Expression& text) {
    if (figure.kind != Expression::Kind::Member || text.kind != Expression::Kind::Text)
        return;
    const std::vector<std::string> choices = choicesOf(figure);
    if (choices.empty() || std::find(choices.begin(), choices.end(), text.text) != choices.end())
        return;
    const std::string name = figure.args[0].text + "." + figure.text;
    Diagnostic& d = error("E0219", text.span, "`" + name + "` is never \"" + text.text + "\"");
    for (const std::string& choice : choices)
        d.expected += (d.expected.empty() ? "`\"" : " or `\"") + choice + "\"`";
    std::string near(typeElsewhere(text.text));
    if (std::find(choices.begin(), choices.end(), near) == choices.end())
        near = closest(lowered(text.text), choices);
    d.fix = "write `\"" + (near.empty() ? choices.front() : near) + "\"`";
}

/// A number is compared with a number, a text with a text and for equality only.
void RuleCompiler::checkComparisons(const Expression& expr) {
    for (const Expression& each : expr.args)
        checkComparisons(each);
    if (expr.kind == Expression::Kind::Binary && expr.text == "in" && expr.args.size() == 2)
        for (const Expression& each : expr.args[1].args)
            checkChoice(expr.args[0], each);
    if (expr.kind != Expression::Kind::Binary || expr.args.size() != 2 ||
        !isOneOf(expr.text, {"==", "!=", "<", "<=", ">", ">="}))
        return;
    checkChoice(expr.args[0], expr.args[1]);
    checkChoice(expr.args[1], expr.args[0]);
    const Sort left = sortOf(expr.args[0]), right = sortOf(expr.args[1]);
    auto isKnown = [](Sort sort) { return sort == Sort::Number || sort == Sort::Text; };
    if (!isOneOf(expr.text, {"==", "!="}) && (left == Sort::Truth || right == Sort::Truth)) {
        const Expression& inner = expr.args[left == Sort::Truth ? 0 : 1];
        Diagnostic& d = error("E0219", inner.span, "this is true or false, not a number");
        d.fix = "write two comparisons: `1 < x.rank and x.rank < 4`";
        return;
    }
    if (isKnown(left) && isKnown(right) && left != right) {
        Diagnostic& d = error("E0219", expr.args[1].span,
                              std::string(nameOf(left)) + " is compared with " + nameOf(right));
        d.expected = nameOf(left);
        d.fix = std::string("write ") + nameOf(left) + " here";
    } else if ((left == Sort::Text || right == Sort::Text) && expr.text != "==" &&
               expr.text != "!=") {
        Diagnostic& d = error("E0219", expr.span, "texts have no order");
        d.expected = "`==`, `!=` or `in`";
        d.fix = "write `==`";
    }
}

} // namespace fuselage::dsl
