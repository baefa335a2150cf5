// SPDX-License-Identifier: Apache-2.0
// Grammar of statements (inside match, many, unless and patterns) and of a rule's clauses.
#include "dsl/grammar_lexical.h"

namespace fuselage::dsl::grammar {

namespace {

const WordTable itemWord{"class", "fn", "form", "import", "opset", "pattern", "pipeline", "rule"};

constexpr auto takeExpression = [](auto& context) {
    x3::_val(context).condition = std::move(x3::_attr(context));
};

} // namespace

struct DefineClass {};
struct DefineNamesClass {};
struct LetClass {};
struct WhereClass {};
struct UnlessClass {};
struct ManyClass {};
struct StatementClass : Recovering<false> {};
struct MatchClass {};
struct TargetClass {};
struct TargetsClass {};
struct AssignClass {};
struct RewriteStatementClass : Recovering<false> {};
struct LetOrAssignClass {};
struct RewriteClass {};
struct GateClass {};
struct EscapeClass {};
struct NumericClass {};
struct QdqPointClass {};
struct QdqClass {};
struct WithClass {};
struct VerifyClass {};
struct HintClass {};
struct GivenAttributeClass {};
struct AsClass {};
struct TestEntryClass : Recovering<false> {};
struct TestLineClass {};
struct ExpectationClass {};
struct InWordClass {};
struct TestBlockClass {};

const x3::rule<DefineClass, ast::Define> define = "a statement";
const x3::rule<DefineNamesClass, std::vector<ast::Name>> defineNames = "names";
const x3::rule<LetClass, ast::Let> let = "`let`";
const x3::rule<WhereClass, ast::Where> where = "`where`";
const x3::rule<UnlessClass, ast::Unless> unless = "`unless`";
const x3::rule<ManyClass, ast::Many> many = "`many`";
const x3::rule<StatementClass, ast::Statement> statement = "a statement";
const x3::rule<MatchClass, ast::Match> match = "`match`";
const x3::rule<TargetClass, ast::Target> target = "a name";
const x3::rule<TargetsClass, std::vector<ast::Target>> targets = "names";
const x3::rule<AssignClass, ast::Assign> assign = "an assignment";
const x3::rule<LetOrAssignClass, ast::RewriteStatement> letOrAssign = "an assignment";
const x3::rule<RewriteStatementClass, ast::RewriteStatement> rewriteStatement = "an assignment";
const x3::rule<RewriteClass, ast::Rewrite> rewrite = "`rewrite`";
const x3::rule<GateClass, ast::Gate> gate = "`gate`";
const x3::rule<EscapeClass, ast::Escape> escape = "`escape`";
const x3::rule<NumericClass, ast::Numeric> numeric = "`numeric`";
const x3::rule<QdqPointClass, ast::QdqPoint> qdqPoint = "a point `NAME: value;`";
const x3::rule<QdqClass, ast::Qdq> qdq = "`qdq`";
const x3::rule<WithClass, ast::With> with = "`Dim in {...}` or `value in 0..1`";
const x3::rule<VerifyClass, ast::Verify> verify = "`verify`";
const x3::rule<HintClass, ast::Hint> hint = "`hint`";
const x3::rule<GivenAttributeClass, ast::NamedExpr> givenAttribute = "`attribute = value`";
const x3::rule<AsClass, ast::As> as = "`as`";
const x3::rule<TestLineClass, ast::TestEntry> testLine = "`graph`, `zoo`, `model` or `expect`";
const x3::rule<ExpectationClass, ast::TestEntry> expectation = "`fires`, `miss`, `same` or `nodes`";
const x3::rule<TestEntryClass, ast::TestEntry> testEntry = "a line of a test";
const x3::rule<TestBlockClass, ast::TestBlock> testBlock = "`test`";

/// Only here for their names in messages.
struct AnyStatementClass {};
struct AnyClauseClass {};
struct PolicyClass {};
struct NumericWordClass {};
const x3::rule<AnyStatementClass, ast::Statement> anyStatement = "a statement";
const x3::rule<AnyClauseClass, ast::Clause> anyClause = "a clause";
const x3::rule<PolicyClass, ast::Name> policy = "`forbid`, `export` or `duplicate`";
const x3::rule<NumericWordClass, ast::Name> numericWord =
    "`exact`, `wider`, `reassociated` or `approximate`";
const x3::rule<InWordClass> inWord = "`in`";

const WordTable policyTable{"forbid", "export", "duplicate"};
const WordTable numericTable{"exact", "wider", "reassociated", "approximate"};

// Statements.

const auto endOfBody = x3::lit('}') | x3::omit[wordOf(itemWord)] | x3::eoi;

const auto defineNames_def = (lower[append] % ',') >> '=' >> !x3::lit('=');
const auto define_def =
    spanned(((defineNames[set<&ast::Define::names>] > choice[set<&ast::Define::choice>]) |
             choice[set<&ast::Define::choice>]) > ';');
const auto let_def = spanned(keyword("let") > lower[set<&ast::Let::name>] > '=' >
                             expression[set<&ast::Let::value>] > ';');
const auto where_def = spanned(keyword("where") > expression[push<&ast::Where::conditions>] >
                               *(',' > expression[push<&ast::Where::conditions>]) > ';');
const auto unless_def = spanned(keyword("unless") > block[set<&ast::Unless::body>]);
const auto many_def =
    spanned(keyword("many") > range[set<&ast::Many::range>] >
            -(keyword("all") >> x3::eps[mark<&ast::Many::all>]) > block[set<&ast::Many::body>]);

const auto anyStatement_def =
    let[become] | where[become] | unless[become] | many[become] | define[become];
const auto statement_def = !endOfBody >> (x3::eps > anyStatement[become]);
const auto block_def = '{' > *statement[append] > '}';

// Clauses.

const auto match_def = spanned(keyword("match") > block[set<&ast::Match::body>]);

const auto target_def = lower[set<&ast::Target::name>] >>
                        -((x3::lit('[') >> x3::eps[mark<&ast::Target::isList>]) > ']');
const auto targets_def = target[append] % ',';
const auto assign_def =
    spanned(targets[set<&ast::Assign::targets>] > '=' > expression[set<&ast::Assign::value>] > ';');
const auto letOrAssign_def = let[become] | assign[become];
const auto rewriteStatement_def = !endOfBody >> (x3::eps > letOrAssign[become]);
const auto rewrite_def =
    spanned(keyword("rewrite") > '{' > *rewriteStatement[push<&ast::Rewrite::body>] > '}');

const auto gate_def = spanned(keyword("gate") > expression[set<&ast::Gate::condition>] > ';');
const auto policy_def = spanned(wordOf(policyTable)[takeRawWord]);
const auto escape_def =
    spanned(keyword("escape") > lower[push<&ast::Escape::names>] >
            *(',' > lower[push<&ast::Escape::names>]) > ':' > policy[set<&ast::Escape::policy>] >
            -(keyword("if") > expression[takeExpression]) > ';');
const auto numericWord_def = spanned(wordOf(numericTable)[takeRawWord]);
const auto numeric_def = spanned(keyword("numeric") > numericWord[set<&ast::Numeric::word>] > ';');

const auto qdqPoint_def =
    spanned(upper[set<&ast::QdqPoint::name>] > ':' > lower[set<&ast::QdqPoint::value>] >
            -(keyword("axis") > signedInteger[set<&ast::QdqPoint::axis>]) >
            -(keyword("if") > expression[takeExpression]) > ';');
const auto qdq_def = spanned(keyword("qdq") > '{' > *qdqPoint[push<&ast::Qdq::points>] > '}');

const auto inWord_def = keyword("in");
const auto with_def =
    (upper[set<&ast::With::name>] > inWord > expression[set<&ast::With::value>]) |
    (lower[set<&ast::With::name>] > inWord > signedNumber[set<&ast::With::least>] > ".." >
     signedNumber[set<&ast::With::most>]);
const auto verify_def = spanned(keyword("verify") > integer[set<&ast::Verify::samples>] >
                                -(keyword("tolerance") > number[set<&ast::Verify::tolerance>]) >
                                -(keyword("with") > '{' > with[push<&ast::Verify::with>] >
                                  *(',' > with[push<&ast::Verify::with>]) > '}') > ';');
const auto givenAttribute_def =
    attributeName[set<&ast::NamedExpr::name>] > '=' > expression[set<&ast::NamedExpr::value>];
const auto as_def =
    spanned(keyword("as") > qualified[set<&ast::As::name>] >
            -('(' > lower[push<&ast::As::operands>] > *(',' > lower[push<&ast::As::operands>]) >
              ')') > -('[' > givenAttribute[push<&ast::As::attributes>] >
                       *(',' > givenAttribute[push<&ast::As::attributes>]) > ']') > ';');
const auto hint_def = spanned(keyword("hint") > quoted[set<&ast::Hint::text>] > ';');

// Tests.

const WordTable givenTable{"graph", "model"};
const WordTable zooTable{"zoo"};
const WordTable countTable{"fires", "nodes"};
const WordTable missTable{"miss"};
const WordTable sameTable{"same"};

constexpr auto setWord = [](auto& context) {
    x3::_val(context).word.text = std::move(x3::_attr(context));
};
constexpr auto setText = [](auto& context) {
    x3::_val(context).text = std::move(x3::_attr(context));
};
constexpr auto setTextOfName = [](auto& context) {
    x3::_val(context).text = std::move(x3::_attr(context).text);
};

const auto expectation_def = (wordOf(countTable)[setWord] > number[setText]) |
                             (wordOf(missTable)[setWord] > word[setTextOfName]) |
                             (wordOf(sameTable)[setWord] > number[setText]);
const auto testLine_def = (wordOf(givenTable)[setWord] > quoted[setText]) |
                          (wordOf(zooTable)[setWord] > word[setTextOfName]) |
                          (keyword("expect") > expectation[become]);
const auto testEntry_def = spanned(!endOfBody >> (x3::eps > testLine[become]) > ';');
const auto testBlock_def = spanned(keyword("test") > quoted[set<&ast::TestBlock::name>] > '{' >
                                   *testEntry[push<&ast::TestBlock::entries>] > '}');

const auto anyClause_def = match[become] | rewrite[become] | gate[become] | escape[become] |
                           numeric[become] | qdq[become] | verify[become] | hint[become] |
                           as[become] | testBlock[become];
const auto clause_def = !endOfBody >> (x3::eps > anyClause[become]);

BOOST_SPIRIT_DEFINE(block, clause, define, defineNames, let, where, unless, many, statement, match,
                    target, targets, assign, letOrAssign, rewriteStatement, rewrite, gate, escape,
                    numeric, qdqPoint, qdq, with, verify, hint, givenAttribute, as, testEntry,
                    testBlock, anyStatement, anyClause, policy, numericWord, inWord, testLine,
                    expectation)

BOOST_SPIRIT_INSTANTIATE(decltype(block), Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(decltype(clause), Iterator, Context)

} // namespace fuselage::dsl::grammar
