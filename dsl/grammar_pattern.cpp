// SPDX-License-Identifier: Apache-2.0
// Grammar of what is matched: choices of chains of steps, terms, operands, types and tests.
#include "core/graph/dtype.h"
#include "dsl/grammar_lexical.h"

namespace fuselage::dsl::grammar {

namespace {

using Kind = ast::Term::Kind;
using Quantifier = ast::Step::Quantifier;

const WordTable typeFlag{"const", "scalar", "input"};

/// Every element type of ONNX, as its textual syntax names it.
WordTable elementTypes() {
    WordTable out;
    for (int64_t number = 1; auto type = dtypeFromOnnx(number); ++number)
        out.add(nameOf(*type), nameOf(*type));
    return out;
}

const WordTable dtypeName = elementTypes();
const WordTable prefixWord{"ordered", "flat", "spec"};
const WordTable inWord{"in"};
const WordTable compareMark{"==", "!=", "<", "<=", ">", ">="};

constexpr auto setMost = [](auto& context) { x3::_val(context).most = x3::_attr(context); };

constexpr auto setBoth = [](auto& context) {
    x3::_val(context).least = x3::_attr(context);
    x3::_val(context).most = x3::_attr(context);
};

} // namespace

struct FlagNameClass {};
struct DtypeNameClass {};
struct DimClass {};
struct CaptureClass {};
struct LabelClass {};
struct ArgNameClass {};
struct TestClass {};
struct ArgClass {};
struct TermClass {};
struct GroupClass {};
struct RegionClass {};
struct NodeClass {};
struct ValueClass {};
struct StepClass {};
struct ChainClass {};
struct AlternativeClass {};
struct TestComparisonClass {};
struct CapturedClass {};

const x3::rule<FlagNameClass, ast::Name> flagName = "a type";
const x3::rule<DtypeNameClass, ast::Name> elementType = "an element type";
const x3::rule<DimClass, ast::Dim> dim = "a dimension";
const x3::rule<CaptureClass, ast::Name> capture = "a capture";
const x3::rule<LabelClass, ast::Name> label = "a label";
const x3::rule<ArgNameClass, ast::Name> argName = "an operand name";
const x3::rule<TestComparisonClass, std::string> testComparison = "a comparison";
const x3::rule<TestClass, ast::Test> attributeTest = "an attribute test";
const x3::rule<ArgClass, ast::Arg> arg = "an operand";
const x3::rule<TermClass, ast::Term> term = "a pattern";
const x3::rule<GroupClass, ast::Term> group = "a pattern";
const x3::rule<CapturedClass, ast::Term> captured = "an operator";
const x3::rule<RegionClass, ast::Term> region = "a region";
const x3::rule<NodeClass, ast::Term> node = "an operator";
const x3::rule<ValueClass, ast::Term> value = "a value";
const x3::rule<StepClass, ast::Step> step = "a step";
const x3::rule<ChainClass, ast::Chain> chain = "a pattern";
const x3::rule<AlternativeClass, ast::Alternative> alternative = "a pattern";

const auto hole = x3::lexeme['_' >> !letterOrDigit];

const auto range_def = spanned(integer[setBoth] >> -(".." > integer[setMost]));

// Types. `x: float` and `x: [N]` are types, `x: Relu(y)` is a labelled alternative.

const auto flagName_def = spanned(wordOf(typeFlag)[takeRawWord]);
const auto elementType_def = spanned(wordOf(dtypeName)[takeRawWord]);
const auto typeStart = x3::lit('[') | x3::omit[wordOf(typeFlag)] | x3::omit[wordOf(dtypeName)];

const auto dim_def =
    spanned((x3::lit("...") >> x3::eps[mark<&ast::Dim::kind, ast::Dim::Kind::Rest>]) |
            (hole >> x3::eps[mark<&ast::Dim::kind, ast::Dim::Kind::Any>]) |
            expression[set<&ast::Dim::value>]);
const auto dims = (x3::lit('[') >> x3::eps[mark<&ast::TypeSpec::hasDims>]) >
                  -(dim[push<&ast::TypeSpec::dims>] % ',') > ']';
const auto typeSpec_def = spanned(&typeStart >> *flagName[push<&ast::TypeSpec::flags>] >>
                                  -(elementType[push<&ast::TypeSpec::dtypes>] % '|') >> -dims);

// Operators.

const auto testComparison_def = compareMark[become] | wordOf(inWord)[become];
const auto attributeTest_def =
    spanned(attributeName[set<&ast::Test::attribute>] >
            testComparison[set<&ast::Test::comparison>] > expression[set<&ast::Test::value>]);
const auto argName_def = word[become] >> '=' >> !x3::lit('=');
const auto arg_def = -argName[set<&ast::Arg::name>] >> chain[set<&ast::Arg::chain>];

const auto operands = (x3::lit('(') >> x3::eps[mark<&ast::Term::hasArguments>]) >
                      -(arg[push<&ast::Term::args>] % ',') > ')';
const auto tests = '[' > attributeTest[push<&ast::Term::tests>] >
                   *(',' > attributeTest[push<&ast::Term::tests>]) > ']';

const auto node_def =
    spanned(x3::eps[mark<&ast::Term::kind, Kind::Node>] >>
            ((wordOf(prefixWord)[set<&ast::Term::prefix>] > operatorName[set<&ast::Term::name>]) |
             operatorName[set<&ast::Term::name>]) >>
            -operands >> -tests);

const auto region_def = spanned(keyword("region") >> x3::eps[mark<&ast::Term::kind, Kind::Region>] >
                                upper[set<&ast::Term::name>] > '{' > range[set<&ast::Term::range>] >
                                '}' > -(keyword("outs") > integer[set<&ast::Term::outputs>]));

// Values and numbers.

constexpr auto takeGroup = [](auto& context) {
    x3::_val(context).kind = Kind::Group;
    x3::_val(context).alternatives = std::move(x3::_attr(context).alternatives);
};
const auto group_def = spanned('(' > choice[takeGroup] > ')');

const auto numberTerm = signedNumber[set<&ast::Term::number>] >>
                        x3::eps[mark<&ast::Term::kind, Kind::Number>] >>
                        -('~' > number[set<&ast::Term::tolerance>]);

const auto value_def =
    spanned(lower[set<&ast::Term::name>] >> x3::eps[mark<&ast::Term::kind, Kind::Value>] >>
            -(x3::lit('?') >> x3::eps[mark<&ast::Term::mayBeAbsent>]) >>
            -(x3::lit("...") >> x3::eps[mark<&ast::Term::rest>]) >>
            -(':' > typeSpec[set<&ast::Term::type>]));

// `s@` keeps what was stored before, so it comes after the term's own members.
constexpr auto setCapture = [](auto& context) { x3::_val(context).capture = x3::_attr(context); };
constexpr auto becomeButCapture = [](auto& context) {
    auto kept = std::move(x3::_val(context).capture);
    x3::_val(context) = std::move(x3::_attr(context));
    x3::_val(context).capture = std::move(kept);
};

const auto capture_def = lower[become] >> '@';
const auto captured_def = group[become] | region[become] | node[become];
const auto term_def = spanned((hole >> x3::eps[mark<&ast::Term::kind, Kind::Hole>]) | numberTerm |
                              ((capture[setCapture] > captured[becomeButCapture]) | group[become] |
                               region[become] | node[become] | value[become]));

const auto step_def =
    spanned(term[set<&ast::Step::term>] >>
            -((x3::lit('?') >> x3::eps[mark<&ast::Step::quantifier, Quantifier::Optional>]) |
              ((x3::lit('{') >> x3::eps[mark<&ast::Step::quantifier, Quantifier::Repeat>]) >
               range[set<&ast::Step::range>] > '}')));

const auto chain_def = spanned(step[push<&ast::Chain::steps>] % "->");

const auto label_def = lower[become] >> ':' >> !typeStart;
const auto alternative_def =
    -label[set<&ast::Alternative::label>] >> chain[set<&ast::Alternative::chain>];
const auto choice_def = spanned(alternative[push<&ast::Choice::alternatives>] % '|');

BOOST_SPIRIT_DEFINE(range, typeSpec, choice, flagName, elementType, dim, capture, label, argName,
                    testComparison, attributeTest, arg, captured, term, group, region, node, value,
                    step, chain, alternative)

BOOST_SPIRIT_INSTANTIATE(decltype(range), Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(decltype(typeSpec), Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(decltype(choice), Iterator, Context)

} // namespace fuselage::dsl::grammar
