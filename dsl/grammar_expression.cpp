// SPDX-License-Identifier: Apache-2.0
// Grammar of expressions, from the weakest binding to the strongest:
//   ->   or   and   not   == != < <= > >= in   ??   + -   * / %   -x   x.y x[i]   primary
#include "dsl/grammar_lexical.h"
#include "dsl/tokens.h"

namespace fuselage::dsl::grammar {

namespace {

using Kind = ast::Expr::Kind;

uint16_t depthAbove(const ast::Expr& expr) {
    uint16_t depth = 0;
    for (const ast::Expr& arg : expr.args)
        depth = std::max(depth, arg.depth);
    for (const ast::NamedExpr& named : expr.named)
        depth = std::max(depth, named.value.depth);
    return static_cast<uint16_t>(depth + 1);
}

/// Makes `whole` the value of the rule, unless that would nest too deep for later phases.
template <typename C> void replaceBy(C& context, ast::Expr whole, const Span& span) {
    ast::Expr& value = x3::_val(context);
    whole.span = span;
    whole.depth = depthAbove(whole);
    if (whole.depth > nestingLimit) {
        stateOf(context).reportDepth(span);
        value = std::move(whole.args[0]);
        return;
    }
    value = std::move(whole);
}

Span join(const Span& from, const Span& to) {
    return {from.source, from.begin, to.end};
}

constexpr auto foldBinary = [](auto& context) {
    auto& tail = x3::_attr(context);
    ast::Expr whole;
    whole.kind = Kind::Binary;
    whole.text = std::move(boost::fusion::at_c<0>(tail));
    whole.args.push_back(std::move(x3::_val(context)));
    whole.args.push_back(std::move(boost::fusion::at_c<1>(tail)));
    Span span = join(whole.args[0].span, whole.args[1].span);
    replaceBy(context, std::move(whole), span);
};

constexpr auto extendChain = [](auto& context) {
    ast::Expr& value = x3::_val(context);
    if (value.kind != Kind::Chain) {
        ast::Expr chain;
        chain.kind = Kind::Chain;
        chain.span = value.span;
        chain.args.push_back(std::move(value));
        value = std::move(chain);
    }
    value.args.push_back(std::move(x3::_attr(context)));
    value.depth = depthAbove(value);
};

constexpr auto wrapUnary = [](auto& context) {
    auto& parts = x3::_attr(context);
    ast::Expr operand = std::move(boost::fusion::at_c<1>(parts));
    if (!boost::fusion::at_c<0>(parts)) {
        x3::_val(context) = std::move(operand);
        return;
    }
    ast::Expr whole;
    whole.kind = Kind::Unary;
    whole.text = *boost::fusion::at_c<0>(parts);
    Span span = operand.span;
    whole.args.push_back(std::move(operand));
    replaceBy(context, std::move(whole), span);
};

constexpr auto wrapMember = [](auto& context) {
    ast::Name member = std::move(x3::_attr(context));
    ast::Expr whole;
    whole.kind = Kind::Member;
    whole.text = member.text;
    whole.args.push_back(std::move(x3::_val(context)));
    Span span = join(whole.args[0].span, member.span);
    replaceBy(context, std::move(whole), span);
};

/// The attribute is what stands between the brackets: an expression, or a Slice without its object.
constexpr auto wrapIndex = [](auto& context) {
    ast::Expr& inside = x3::_attr(context);
    Span span = join(x3::_val(context).span, inside.span);
    ast::Expr whole;
    const bool isSlice = inside.kind == Kind::Slice && inside.args.size() == 2;
    whole.kind = isSlice ? Kind::Slice : Kind::Index;
    whole.args.push_back(std::move(x3::_val(context)));
    if (isSlice)
        std::move(inside.args.begin(), inside.args.end(), std::back_inserter(whole.args));
    else
        whole.args.push_back(std::move(inside));
    replaceBy(context, std::move(whole), span);
};

/// What was read so far, if anything, is where the slice begins; its end may follow.
constexpr auto beginSlice = [](auto& context) {
    ast::Expr& value = x3::_val(context);
    ast::Expr slice;
    slice.kind = Kind::Slice;
    slice.args.push_back(std::move(value));
    slice.args.emplace_back();
    value = std::move(slice);
};

constexpr auto endSlice = [](auto& context) {
    x3::_val(context).args[1] = std::move(x3::_attr(context));
};

constexpr auto takeSpread = [](auto& context) {
    x3::_val(context).name.text = "...";
    x3::_val(context).name.span =
        stateOf(context).span(x3::_attr(context).begin(), x3::_attr(context).end());
};

constexpr auto takeSpreadOf = [](auto& context) {
    ast::Expr& value = x3::_val(context).value;
    value.kind = Kind::Lower;
    value.text = std::move(x3::_attr(context).text);
    value.span = x3::_attr(context).span;
};

template <Kind kind>
constexpr auto takeName = [](auto& context) {
    ast::Expr& value = x3::_val(context);
    value.kind = kind;
    value.text = std::move(x3::_attr(context).text);
};

constexpr auto takeWord = [](auto& context) {
    x3::_val(context).kind = Kind::Lower;
    x3::_val(context).text = std::move(x3::_attr(context));
};

constexpr auto takeNumber = [](auto& context) {
    ast::Expr& value = x3::_val(context);
    value.kind = Kind::Number;
    value.text = std::move(x3::_attr(context));
    value.number = numeralValue(value.text);
    value.isInteger = isIntegerText(value.text);
};

constexpr auto takeString = [](auto& context) {
    x3::_val(context).kind = Kind::Text;
    x3::_val(context).text = std::move(x3::_attr(context));
};

constexpr auto deepen = [](auto& context) {
    x3::_val(context).depth = depthAbove(x3::_val(context));
};

} // namespace

struct ComparisonClass {};
struct NamedClass {};
struct SpreadClass {};
struct GivenClass {};
struct InsideClass {};
struct OrClass {};
struct AndClass {};
struct NotClass {};
struct CompareClass {};
struct CoalesceClass {};
struct SumClass {};
struct ProductClass {};
struct NegationClass {};
struct PostfixClass {};
struct PrimaryClass {};
struct LowerLedClass {};
struct UpperLedClass {};
struct ListClass {};

const x3::rule<ComparisonClass, std::string> comparison = "a comparison";
const x3::rule<NamedClass, ast::NamedExpr> named = "a named argument";
const x3::rule<SpreadClass, ast::NamedExpr> spread = "`...` and a name";
const x3::rule<GivenClass, ast::NamedExpr> given = "a named argument";
const x3::rule<InsideClass, ast::Expr> inside = "an expression";
const x3::rule<OrClass, ast::Expr> orLevel = "an expression";
const x3::rule<AndClass, ast::Expr> andLevel = "an expression";
const x3::rule<NotClass, ast::Expr> notLevel = "an expression";
const x3::rule<CompareClass, ast::Expr> compareLevel = "an expression";
const x3::rule<CoalesceClass, ast::Expr> coalesceLevel = "an expression";
const x3::rule<SumClass, ast::Expr> sumLevel = "an expression";
const x3::rule<ProductClass, ast::Expr> productLevel = "an expression";
const x3::rule<NegationClass, ast::Expr> negationLevel = "an expression";
const x3::rule<PostfixClass, ast::Expr> postfixLevel = "an expression";
const x3::rule<PrimaryClass, ast::Expr> primary = "an expression";
const x3::rule<LowerLedClass, ast::Expr> lowerLed = "a name";
const x3::rule<UpperLedClass, ast::Expr> upperLed = "an operator";
const x3::rule<ListClass, ast::Expr> list = "a list";

const WordTable orWord{"or"};
const WordTable andWord{"and"};
const WordTable notWord{"not"};
const WordTable inWord{"in"};
const WordTable constantWord{"none", "true", "false", "_"};

struct MarkTable : x3::symbols<std::string> {
    MarkTable(std::initializer_list<const char*> marks) {
        for (const char* mark : marks)
            add(mark, mark);
    }
};

const MarkTable compareMark{"==", "!=", "<", "<=", ">", ">="};
const MarkTable coalesceMark{"?"
                             "?"};
const MarkTable sumMark{"+", "-"};
const MarkTable productMark{"*", "/", "%"};
const MarkTable minusMark{"-"};

const auto expression_def = spanned(orLevel[become] >> *("->" > orLevel[extendChain]));
const auto orLevel_def = spanned(andLevel[become] >> *(wordOf(orWord) > andLevel)[foldBinary]);
const auto andLevel_def = spanned(notLevel[become] >> *(wordOf(andWord) > notLevel)[foldBinary]);
const auto notLevel_def = spanned((-wordOf(notWord) >> compareLevel)[wrapUnary]);
const auto comparison_def = compareMark[become] | wordOf(inWord)[become];
const auto compareLevel_def =
    spanned(coalesceLevel[become] >> *(comparison > coalesceLevel)[foldBinary]);
const auto coalesceLevel_def = spanned(sumLevel[become] >> *(coalesceMark > sumLevel)[foldBinary]);
const auto sumLevel_def =
    spanned(productLevel[become] >> *((!x3::lit("->") >> sumMark) > productLevel)[foldBinary]);
const auto productLevel_def =
    spanned(negationLevel[become] >> *(productMark > negationLevel)[foldBinary]);
const auto negationLevel_def = spanned((-(!x3::lit("->") >> minusMark) >> postfixLevel)[wrapUnary]);
const auto postfixLevel_def =
    spanned(primary[become] >> *((x3::lit('.') >> !x3::lit('.') > attributeName[wrapMember]) |
                                 ('[' > inside[wrapIndex] > ']')));

const auto sliceEnd = x3::lit(':') >> x3::eps[beginSlice] >> -expression[endSlice];
const auto inside_def = spanned((expression[become] >> -sliceEnd) | sliceEnd);

const auto named_def = attributeName[set<&ast::NamedExpr::name>] >> '=' >> !x3::lit('=') >
                       expression[set<&ast::NamedExpr::value>];

const auto argument = (&(attributeName >> '=' >> !x3::lit('=')) >> named[push<&ast::Expr::named>]) |
                      expression[push<&ast::Expr::args>];
const auto arguments = '(' > -(argument % ',') > ')';
const auto emptyBrackets = x3::lit('[') >> ']';

const auto lowerLed_def =
    spanned(wordOf(constantWord)[takeWord] |
            (lower[takeName<Kind::Lower>] >>
             -((emptyBrackets >> x3::eps[mark<&ast::Expr::kind, Kind::ListOf>]) |
               (&x3::lit('(') >> x3::eps[mark<&ast::Expr::kind, Kind::Call>] >> arguments))));

const auto spread_def = x3::raw[x3::lit("...")][takeSpread] > lower[takeSpreadOf];

const auto given_def = spread[become] | named[become];
const auto nodeAttributes =
    &(x3::lit('[') >> (x3::lit("...") | (attributeName >> '=' >> !x3::lit('=')))) >>
    x3::lit('[') >> x3::eps[mark<&ast::Expr::kind, Kind::Node>] > given[push<&ast::Expr::named>] >
    *(',' > given[push<&ast::Expr::named>]) > ']';
const auto nodeArguments = &x3::lit('(') >> x3::eps[mark<&ast::Expr::kind, Kind::Node>] >>
                           ('(' > -(expression[push<&ast::Expr::args>] % ',') > ')');
/// `x.shape[0]` begins like an operator with its domain: that one's name is a capital one, or
/// operands follow.
const auto qualifiedOperator =
    &x3::lexeme[x3::char_("a-zA-Z") >> *letterOrDigit >> x3::lit('.') >>
                *(x3::char_("a-z_") >> *letterOrDigit >> x3::lit('.')) >>
                (x3::char_("A-Z") | (x3::char_("a-z_") >> *letterOrDigit >> *x3::space >> '('))] >>
    qualified[takeName<Kind::Upper>];
const auto upperLed_def =
    spanned((qualifiedOperator | upper[takeName<Kind::Upper>]) >>
            ((emptyBrackets >> x3::eps[mark<&ast::Expr::kind, Kind::ListOf>]) |
             (-nodeArguments >> -nodeAttributes)));

const auto elements = -(expression[push<&ast::Expr::args>] % ',');
const auto list_def =
    spanned((x3::lit('[') >> x3::eps[mark<&ast::Expr::kind, Kind::List>] > elements > ']') |
            (x3::lit('{') >> x3::eps[mark<&ast::Expr::kind, Kind::Set>] > elements > '}'));

const auto primary_def =
    spanned(number[takeNumber] | quoted[takeString] | ('(' > expression[become] > ')') |
            ((list[become] | upperLed[become] | lowerLed[become]) >> x3::eps[deepen]));

BOOST_SPIRIT_DEFINE(expression, orLevel, andLevel, notLevel, compareLevel, coalesceLevel, sumLevel,
                    productLevel, negationLevel, postfixLevel, primary, comparison, named, spread,
                    given, inside, lowerLed, upperLed, list)

BOOST_SPIRIT_INSTANTIATE(decltype(expression), Iterator, Context)

} // namespace fuselage::dsl::grammar
