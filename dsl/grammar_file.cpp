// SPDX-License-Identifier: Apache-2.0
// Grammar of a file and its items: import, opset, class, fn, pattern, form, rule,
// pipeline.
#include "dsl/grammar_lexical.h"

namespace fuselage::dsl::grammar {

namespace {

const WordTable selectionTable{"order", "gain", "exact"};
const WordTable plainModifier{"once"};

constexpr auto setWord = [](auto& context) {
    x3::_val(context).word = std::move(x3::_attr(context));
};

} // namespace

struct ImportClass {};
struct OpsetClass {};
struct ClassMemberClass {};
struct ClassItemClass {};
struct FunctionClass {};
struct ParameterClass {};
struct PatternClass {};
struct FormAttributeClass {};
struct FormClass {};
struct OperandClass {};
struct OperatorAttributeClass {};
struct OperatorClass {};
struct AttributeTypeClass {};
struct ModifierClass {};
struct RuleItemClass {};
struct SelectionClass {};
struct PipelineStepClass {};
struct PipelineClass {};
struct AnyItemClass {};
struct ItemClass : Recovering<true> {};
struct FuseWordClass {};
struct HeaderClass : Recovering<false> {};

const x3::rule<ImportClass, ast::Import> import = "`import`";
const x3::rule<OpsetClass, ast::Opset> opset = "`opset`";
const x3::rule<ClassMemberClass, ast::ClassMember> classMember = "an operator or `@trait`";
const x3::rule<ClassItemClass, ast::Class> classItem = "`class`";
const x3::rule<FunctionClass, ast::Function> function = "`fn`";
const x3::rule<ParameterClass, ast::Parameter> parameter = "a parameter";
const x3::rule<PatternClass, ast::Pattern> pattern = "`pattern`";
const x3::rule<FormAttributeClass, ast::NamedExpr> formAttribute = "`attribute == value`";
const x3::rule<FormClass, ast::Form> form = "`form`";
const x3::rule<OperandClass, ast::Parameter> operand = "an operand";
const x3::rule<AttributeTypeClass, ast::Name> attributeType =
    "`int`, `float`, `string`, `ints`, `floats`, `strings` or `tensor`";
const x3::rule<OperatorAttributeClass, ast::OperatorAttribute> operatorAttribute =
    "`attribute: type`";
const x3::rule<OperatorClass, ast::Operator> operatorItem = "`op`";
const x3::rule<ModifierClass, ast::Modifier> modifier = "`in`, `priority`, `once` or `replaces`";
const x3::rule<RuleItemClass, ast::Rule> rule = "`rule`";
const x3::rule<SelectionClass, ast::Name> selection = "`order`, `gain` or `exact`";
const x3::rule<PipelineStepClass, ast::PipelineStep> pipelineStep = "a phase";
const x3::rule<PipelineClass, ast::Pipeline> pipeline = "`pipeline`";
const x3::rule<AnyItemClass, ast::Item> anyItem = "an item";
const x3::rule<ItemClass, ast::Item> item = "an item";
const x3::rule<FuseWordClass> fuseWord = "`fuse 1;`";
const x3::rule<HeaderClass, int64_t> header = "`fuse 1;`";

constexpr auto setNumber = [](auto& context) { x3::_val(context).number = x3::_attr(context); };

const auto import_def = spanned(keyword("import") > quoted[set<&ast::Import::path>] > ';');

const auto opset_def = spanned(keyword("opset") > ">=" > integer[set<&ast::Opset::least>] >
                               -('<' > integer[set<&ast::Opset::below>]) > ';');

const auto classMember_def = ((x3::lit('@') >> x3::eps[mark<&ast::ClassMember::isTrait>]) >
                              lower[set<&ast::ClassMember::name>]) |
                             operatorName[set<&ast::ClassMember::name>];
const auto classItem_def = spanned(keyword("class") > upper[set<&ast::Class::name>] > '=' >
                                   classMember[push<&ast::Class::members>] >
                                   *('|' > classMember[push<&ast::Class::members>]) > ';');

const auto function_def = spanned(keyword("fn") > lower[set<&ast::Function::name>] > '(' >
                                  -(lower[push<&ast::Function::parameters>] % ',') > ')' > '=' >
                                  expression[set<&ast::Function::body>] > ';');

const auto parameter_def = lower[set<&ast::Parameter::name>] >>
                           -(':' > typeSpec[set<&ast::Parameter::type>]);
const auto pattern_def =
    spanned(keyword("pattern") > upper[set<&ast::Pattern::name>] > '(' >
            -(parameter[push<&ast::Pattern::parameters>] % ',') > ')' > "->" >
            lower[push<&ast::Pattern::results>] > *(',' > lower[push<&ast::Pattern::results>]) >
            block[set<&ast::Pattern::body>]);

constexpr auto setOperator = [](auto& context) {
    x3::_val(context).pattern.name = std::move(x3::_attr(context));
};
constexpr auto pushOperand = [](auto& context) {
    x3::_val(context).pattern.parameters.push_back(std::move(x3::_attr(context)));
};
constexpr auto setBody = [](auto& context) {
    x3::_val(context).pattern.body = std::move(x3::_attr(context));
};
const auto formAttribute_def =
    attributeName[set<&ast::NamedExpr::name>] > "==" > expression[set<&ast::NamedExpr::value>];
const auto form_def =
    spanned(keyword("form") > upper[setOperator] > '(' > -(parameter[pushOperand] % ',') > ')' >
            -('[' > formAttribute[push<&ast::Form::attributes>] >
              *(',' > formAttribute[push<&ast::Form::attributes>]) > ']') > block[setBody]);

template <auto member> struct SetOfPattern {
    template <typename C> void operator()(C& context) const {
        x3::_val(context).pattern.*member = std::move(x3::_attr(context));
    }
};
template <auto member> struct PushOfPattern {
    template <typename C> void operator()(C& context) const {
        (x3::_val(context).pattern.*member).push_back(std::move(x3::_attr(context)));
    }
};
constexpr SetOfPattern<&ast::Pattern::name> setHead{};
constexpr SetOfPattern<&ast::Pattern::body> setStatements{};
constexpr PushOfPattern<&ast::Pattern::parameters> pushParameter{};
constexpr PushOfPattern<&ast::Pattern::results> pushResult{};

const WordTable attributeTypes{"int", "float", "string", "ints", "floats", "strings", "tensor"};
const auto attributeType_def = spanned(wordOf(attributeTypes)[takeRawWord]);
const auto operand_def = lower[set<&ast::Parameter::name>] >>
                         -(x3::lit('?') >> x3::eps[mark<&ast::Parameter::mayBeAbsent>]);
const auto operatorAttribute_def =
    spanned(attributeName[set<&ast::OperatorAttribute::name>] > ':' >
            attributeType[set<&ast::OperatorAttribute::type>] >
            -('=' > expression[set<&ast::OperatorAttribute::fallback>]));
const auto results =
    ('(' > lower[pushResult] > *(',' > lower[pushResult]) > ')') | lower[pushResult];
const auto operatorItem_def =
    spanned(keyword("op") > qualified[setHead] > '(' > -(operand[pushParameter] % ',') > ')' >
            "->" > results > -('[' > operatorAttribute[push<&ast::Operator::attributes>] >
                               *(',' > operatorAttribute[push<&ast::Operator::attributes>]) > ']') >
            (x3::lit(';') | (x3::eps[mark<&ast::Operator::hasBody>] >> block[setStatements])));

const WordTable inTable{"in"};
const WordTable priorityTable{"priority"};
const WordTable replacesTable{"replaces"};
const auto modifier_def = spanned(
    (wordOf(inTable)[setWord] > lower[set<&ast::Modifier::name>]) |
    (wordOf(priorityTable)[setWord] > signedInteger[setNumber]) | wordOf(plainModifier)[setWord] |
    (wordOf(replacesTable)[setWord] > upper[set<&ast::Modifier::name>]));
const auto rule_def = spanned(keyword("rule") > upper[set<&ast::Rule::name>] >
                              *modifier[push<&ast::Rule::modifiers>] > '{' >
                              *clause[push<&ast::Rule::clauses>] > '}');

const auto selection_def = spanned(wordOf(selectionTable)[takeRawWord]);
const auto pipelineStep_def = lower[set<&ast::PipelineStep::phase>] >>
                              -(x3::lit('*') >> x3::eps[mark<&ast::PipelineStep::repeat>]) >>
                              -(keyword("by") > selection[set<&ast::PipelineStep::selection>]);
const auto pipeline_def = spanned(keyword("pipeline") > lower[set<&ast::Pipeline::name>] > '=' >
                                  pipelineStep[push<&ast::Pipeline::steps>] >
                                  *(keyword("then") > pipelineStep[push<&ast::Pipeline::steps>]) >
                                  -(keyword("keep") > upper[set<&ast::Pipeline::kept>]) > ';');

const auto anyItem_def = rule[become] | pattern[become] | form[become] | operatorItem[become] |
                         classItem[become] | function[become] | import[become] | opset[become] |
                         pipeline[become];
const auto item_def = !x3::eoi >> (x3::eps > anyItem[become]);

const auto fuseWord_def = keyword("fuse");
const auto header_def = x3::eps > fuseWord > signedInteger[become] > ';';
const auto file_def = header[set<&ast::File::version>] >> *item[push<&ast::File::items>] >> x3::eoi;

BOOST_SPIRIT_DEFINE(file, import, opset, classMember, classItem, function, parameter, pattern,
                    formAttribute, form, operand, attributeType, operatorAttribute, operatorItem,
                    modifier, rule, selection, pipelineStep, pipeline, anyItem, item, header,
                    fuseWord)

BOOST_SPIRIT_INSTANTIATE(decltype(file), Iterator, Context)

} // namespace fuselage::dsl::grammar
