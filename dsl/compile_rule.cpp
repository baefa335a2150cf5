// SPDX-License-Identifier: Apache-2.0
// A rule's header and clauses, and the loop over all rules and pipelines of a library.
#include "core/ops/op_table.h"
#include "dsl/compile_internal.h"
#include "dsl/suggest.h"
#include "dsl/tokens.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace fuselage::dsl {

bool hasSyntaxError(const Diagnostics& diagnostics, const Span& place) {
    const auto& all = diagnostics.all();
    return std::any_of(all.begin(), all.end(), [&](const Diagnostic& d) {
        return d.code.starts_with("E01") && d.span.source == place.source &&
               d.span.begin >= place.begin && d.span.begin <= place.end;
    });
}

namespace {

const char* wordOf(const ast::Clause& clause) {
    constexpr const char* words[] = {"match", "rewrite", "gate", "escape", "numeric",
                                     "qdq",   "verify",  "hint", "as",     "test"};
    return words[clause.index()];
}

bool mayRepeat(const ast::Clause& clause) {
    return std::holds_alternative<ast::Escape>(clause) ||
           std::holds_alternative<ast::Hint>(clause) ||
           std::holds_alternative<ast::TestBlock>(clause);
}

bool isWord(const ast::Expr& expr, const char* word) {
    return expr.kind == ast::Expr::Kind::Lower && expr.text == word;
}

/// Takes the word `measured` off the front of a gate; without a condition behind it nothing is
/// left.
bool takeMeasured(ast::Expr& condition) {
    if (isWord(condition, "measured")) {
        condition = ast::Expr();
        return true;
    }
    if (condition.kind != ast::Expr::Kind::Binary || condition.text != "and")
        return false;
    if (!isWord(condition.args[0], "measured"))
        return takeMeasured(condition.args[0]);
    ast::Expr rest = std::move(condition.args[1]);
    condition = std::move(rest);
    return true;
}

/// The operators of the class that a pipeline keeps.
std::vector<std::string> keptOperators(const ast::Name& name, const Names& names,
                                       Diagnostics& diagnostics) {
    const auto found = operatorsNamed(name, names, diagnostics);
    std::vector<std::string> out;
    if (!found) {
        std::vector<std::string> known;
        for (const auto& [group, operators] : names.classes)
            known.push_back(group);
        diagnostics.error("E0201", name.span, "there is no class `" + name.text + "`").fix =
            didYouMean(closest(name.text, known),
                       "define it, `class " + name.text + " = Conv | MatMul;`");
        return out;
    }
    for (Op op : found->ops)
        out.push_back(qualifiedNameOf(op));
    for (const CustomOperatorPtr& custom : found->custom)
        out.push_back(custom->text());
    return out;
}

Pipeline compilePipeline(const ast::Pipeline& item, const Names& names, Diagnostics& diagnostics) {
    Pipeline out;
    out.name = item.name.text;
    if (item.kept)
        out.kept = keptOperators(*item.kept, names, diagnostics);
    for (const ast::PipelineStep& step : item.steps) {
        PhaseStep made;
        made.phase = step.phase.text;
        made.repeat = step.repeat;
        if (step.selection)
            made.selection = step.selection->text == "order"   ? PhaseStep::Selection::Order
                             : step.selection->text == "exact" ? PhaseStep::Selection::Exact
                                                               : PhaseStep::Selection::Gain;
        out.steps.push_back(std::move(made));
    }
    return out;
}

} // namespace

RuleCompiler::RuleCompiler(const Library& library, Diagnostics& diagnostics, const ast::File& file,
                           const Forms& forms, PatternFacts& facts)
    : m_library(library), m_diagnostics(diagnostics), m_file(file), m_forms(forms), m_facts(facts) {
}

bool RuleCompiler::compile(const ast::Rule& item, Rule& out) {
    m_rule = &out;
    m_top.names = &m_library.namesOf(m_file.source);
    header(item);
    if (!checkClauses(item))
        return false;
    for (const ast::Clause& each : item.clauses)
        m_rule->isRewrite |= std::holds_alternative<ast::Rewrite>(each);
    // What a literal of the match tolerates depends on the class.
    for (const ast::Clause& each : item.clauses)
        if (auto* numeric = std::get_if<ast::Numeric>(&each))
            clause(*numeric);
    // The match binds the names that all other clauses use, wherever it stands.
    for (const ast::Clause& each : item.clauses)
        if (auto* match = std::get_if<ast::Match>(&each))
            clause(*match);
    const bool isMatchGood = m_errors == 0;
    for (const ast::Clause& each : item.clauses)
        std::visit(
            [this](const auto& part) {
                if constexpr (!std::is_same_v<std::decay_t<decltype(part)>, ast::Match>)
                    clause(part);
            },
            each);
    if (isMatchGood)
        checkParameters();
    if (m_errors == 0)
        checkEscapes(item);
    return m_errors == 0;
}

void RuleCompiler::header(const ast::Rule& item) {
    Rule& rule = *m_rule;
    const Source& source = m_library.sources()[m_file.source];
    rule.name = item.name.text;
    rule.documentation = item.documentation;
    rule.span = item.name.span;
    rule.file = source.name();
    rule.line = source.position(item.name.span.begin).line;
    for (const ast::Modifier& modifier : item.modifiers) {
        if (modifier.word == "in")
            rule.phase = modifier.name.text;
        else if (modifier.word == "priority")
            rule.priority = modifier.number;
        else if (modifier.word == "once")
            rule.once = true;
        else
            rule.replaces = modifier.name.text;
    }
}

bool RuleCompiler::checkClauses(const ast::Rule& item) {
    size_t matches = 0;
    std::vector<bool> seen(std::variant_size_v<ast::Clause>, false);
    for (const ast::Clause& each : item.clauses) {
        matches += std::holds_alternative<ast::Match>(each) ? 1 : 0;
        if (seen[each.index()] && !mayRepeat(each)) {
            Diagnostic& d =
                error("E0211", ast::spanOf(each),
                      "rule `" + item.name.text + "` has two `" + wordOf(each) + "` clauses");
            d.expected = "one";
            d.fix = "join them into one";
        }
        seen[each.index()] = true;
    }
    if (matches == 0 && !hasSyntaxError(m_diagnostics, item.span)) {
        Diagnostic& d =
            error("E0210", item.name.span, "rule `" + item.name.text + "` has no `match`");
        d.expected = "one `match { ... }`";
        d.fix = "add `match { y = ...; }`";
    }
    return m_errors == 0;
}

void RuleCompiler::clause(const ast::Match& match) {
    block(match.body, m_top, m_rule->match);
    if (!m_rule->match.definitions.empty() || !m_rule->match.manys.empty())
        return;
    if (match.isBroken) {
        ++m_errors; // which were said
    } else {
        Diagnostic& d = error("E0247", match.span, "`match` has nothing to match");
        d.fix = "add a statement such as `y = Relu(x);`";
    }
}

std::optional<SlotIndex> RuleCompiler::slotNamed(const ast::Name& name) {
    if (const Bound* bound = m_top.find(&Scope::values, name.text); bound && bound->slot)
        return bound->slot;
    if (const SlotIndex* list = m_top.find(&Scope::lists, name.text))
        return *list;
    std::vector<std::string> known;
    for (auto& [value, bound] : m_top.values)
        known.push_back(value);
    for (auto& [value, slot] : m_top.lists)
        known.push_back(value);
    Diagnostic& d = error("E0230", name.span, "nothing in `match` is called `" + name.text + "`");
    d.expected = "one of " + listed(known) + (m_inRewrite ? "; `let` makes a new name" : "");
    d.fix = didYouMean(closest(name.text, known), "write a name bound in `match`");
    return std::nullopt;
}

void RuleCompiler::clause(const ast::Rewrite& rewrite) {
    m_inRewrite = true;
    if (m_body)
        declareInner(rewrite);
    for (const ast::RewriteStatement& statement : rewrite.body) {
        if (auto* assign = std::get_if<ast::Assign>(&statement)) {
            assignment(*assign);
            continue;
        }
        const auto& let = std::get<ast::Let>(statement);
        Expression value = expression(let.value, m_top);
        m_top.lets[let.name.text] = static_cast<uint32_t>(m_rule->lets.size());
        m_rule->lets.push_back({let.name.text, std::move(value)});
    }
    m_inRewrite = false;
    if (m_rule->rewrite.empty() && m_errors == 0) {
        Diagnostic& d = error("E0249", rewrite.span, "`rewrite` replaces nothing");
        d.expected = "an assignment to a name of `match`";
        d.fix = "add `y = ...;`";
    }
}

void RuleCompiler::assignment(const ast::Assign& assign) {
    Assignment out;
    out.span = assign.span;
    for (const ast::Target& target : assign.targets) {
        auto slot = slotNamed(target.name);
        if (!slot)
            continue;
        out.targets.push_back(*slot);
        out.isList |= target.isList;
        bool isList = m_top.lists.count(target.name.text) != 0;
        if (isList != target.isList) {
            Diagnostic& d =
                error("E0233", target.name.span,
                      "`" + target.name.text + (isList ? "` is a list" : "` is no list"));
            d.fix = "write `" + target.name.text + (isList ? "[]`" : "`");
        }
    }
    out.value = expression(assign.value, m_top);
    if (assign.value.named.empty())
        leaveItselfOut(out);
    m_rule->rewrite.push_back(std::move(out));
}

void RuleCompiler::clause(const ast::Gate& gate) {
    ast::Expr condition = gate.condition;
    m_rule->gate.measured = takeMeasured(condition);
    if (isWord(condition, "always")) {
        m_rule->gate.kind = Gate::Kind::Always;
    } else if (condition.kind != ast::Expr::Kind::Missing) {
        m_rule->gate.kind = Gate::Kind::Condition;
        m_known = Known::Gate;
        m_rule->gate.condition = expression(condition, m_top);
        checkCondition(*m_rule->gate.condition);
        m_known = Known::Match;
    }
}

void RuleCompiler::clause(const ast::Escape& escape) {
    Escape out;
    out.span = escape.span;
    for (const ast::Name& name : escape.names)
        if (auto slot = slotNamed(name))
            out.slots.push_back(*slot);
    out.policy = escape.policy.text == "export"      ? EscapePolicy::Export
                 : escape.policy.text == "duplicate" ? EscapePolicy::Duplicate
                                                     : EscapePolicy::Forbid;
    m_known = Known::Escape;
    if (escape.condition) {
        out.condition = expression(*escape.condition, m_top);
        checkCondition(*out.condition);
    }
    m_known = Known::Match;
    m_rule->escapes.push_back(std::move(out));
}

void RuleCompiler::clause(const ast::Numeric& numeric) {
    for (NumericClass each : {NumericClass::Exact, NumericClass::Wider, NumericClass::Reassociated,
                              NumericClass::Approximate})
        if (numeric.word.text == nameOf(each))
            m_rule->numeric = each;
}

void RuleCompiler::clause(const ast::Qdq& qdq) {
    const Source& source = m_library.sources()[m_file.source];
    for (const ast::QdqPoint& point : qdq.points) {
        auto slot = slotNamed(point.value);
        if (!slot)
            continue;
        QdqPoint out{point.name.text, *slot, point.axis, {}, 0};
        out.line = source.position(point.name.span.begin).line;
        if (point.condition) {
            out.condition = expression(*point.condition, m_top);
            checkCondition(*out.condition);
        }
        m_rule->qdq.push_back(std::move(out));
    }
}

void RuleCompiler::addRange(const ast::With& with, VerifySpec& out) {
    auto numberOf = [](const std::string& text) {
        return text[0] == '-' ? -numeralValue(text.substr(1)) : numeralValue(text);
    };
    const auto slot = slotNamed(with.name);
    const double least = numberOf(with.least), most = numberOf(with.most);
    if (!(least <= most) || !std::isfinite(most - least)) {
        Diagnostic& d = error("E0248", with.name.span, "this range is empty or too large");
        d.found = with.least + ".." + with.most;
        d.fix = "write the smaller number first, both finite";
    } else if (slot) {
        out.values.push_back({*slot, least, most});
    }
}

void RuleCompiler::clause(const ast::Verify& verify) {
    VerifySpec out;
    out.samples = verify.samples;
    if (!verify.tolerance.empty())
        out.tolerance = numeralValue(verify.tolerance);
    for (const ast::With& with : verify.with) {
        if (!with.least.empty()) {
            addRange(with, out);
            continue;
        }
        const uint32_t* dim = m_top.find(&Scope::dims, with.name.text);
        std::vector<int64_t> values;
        bool isSet =
            with.value.kind == ast::Expr::Kind::Set || with.value.kind == ast::Expr::Kind::List;
        for (const ast::Expr& value : with.value.args) {
            isSet = isSet && value.kind == ast::Expr::Kind::Number && value.isInteger;
            if (isSet)
                values.push_back(static_cast<int64_t>(value.number));
        }
        if (!dim) {
            Diagnostic& d = error("E0230", with.name.span,
                                  "no type in `match` has a dimension `" + with.name.text + "`");
            d.fix = "write a dimension variable of a type in `match`";
        } else if (!isSet) {
            Diagnostic& d = error("E0219", with.value.span, "a dimension takes a set of integers");
            d.fix = "write `" + with.name.text + " in {1, 7, 64}`";
        } else {
            out.dims.emplace_back(*dim, std::move(values));
        }
    }
    m_rule->verify = std::move(out);
}

void RuleCompiler::clause(const ast::Hint& hint) {
    m_rule->hints.push_back(hint.text);
}

void RuleCompiler::clause(const ast::TestBlock&) {
    // Tests are no part of the compiled rule; dsl/load collects them.
}

namespace {

/// The forms of all files. Those with errors are told once, here, and stand in no rule.
Forms compileForms(const Library& library, Diagnostics& diagnostics, PatternFacts& facts,
                   std::vector<Rule>& compiled) {
    Forms all, good;
    auto forEach = [&](auto function) {
        for (const auto& parsed : library.files())
            for (const ast::Item& item : parsed->file.items)
                if (auto* form = std::get_if<ast::Form>(&item);
                    form && !overlapsError(parsed->diagnostics, form->span))
                    function(*form, parsed->file);
    };
    forEach([&](const ast::Form& form, const ast::File&) {
        if (auto op = operatorNamed(form.pattern.name.text); op && !form.pattern.results.empty())
            all[*op].push_back(&form);
    });
    forEach([&](const ast::Form& form, const ast::File& file) {
        Rule rule;
        if (!RuleCompiler(library, diagnostics, file, all, facts).compile(form, rule))
            return;
        good[*operatorNamed(form.pattern.name.text)].push_back(&form);
        compiled.push_back(std::move(rule));
    });
    return good;
}

} // namespace

bool overlapsError(const Diagnostics& problems, const Span& span) {
    for (const Diagnostic& d : problems.all())
        if (d.severity == Severity::Error && d.span.source == span.source &&
            d.span.begin >= span.begin && d.span.begin <= span.end)
            return true;
    return false;
}

Compiled compile(const Library& library, Diagnostics& diagnostics) {
    Compiled made;
    RuleSet& out = made.rules;
    PatternFacts facts;
    const Forms forms = compileForms(library, diagnostics, facts, made.forms);
    compileOperators(library, diagnostics, facts, forms, out);
    std::map<std::string, Span> places;
    for (const auto& parsed : library.files()) {
        Rule fresh; // with the opsets of the last `opset` line above
        for (const ast::Item& item : parsed->file.items) {
            if (auto* opset = std::get_if<ast::Opset>(&item)) {
                fresh.minOpset = opset->least;
                fresh.maxOpset = opset->below.value_or(0);
            }
            if (auto* pipeline = std::get_if<ast::Pipeline>(&item))
                out.pipelines.push_back(compilePipeline(
                    *pipeline, library.namesOf(pipeline->name.span.source), diagnostics));
            auto* rule = std::get_if<ast::Rule>(&item);
            if (!rule || overlapsError(parsed->diagnostics, rule->span))
                continue; // what a syntax error left of a rule would only raise follow-up errors
            Rule compiled = fresh;
            RuleCompiler compiler(library, diagnostics, parsed->file, forms, facts);
            bool isGood = compiler.compile(*rule, compiled);
            auto [place, isNew] = places.emplace(rule->name.text, rule->name.span);
            if (!isNew && compiled.replaces != compiled.name) {
                Diagnostic& d =
                    diagnostics.error("E0203", rule->name.span,
                                      "rule `" + rule->name.text + "` has a name that is taken");
                d.labels.push_back({place->second, "first defined here"});
                d.fix = "choose another name, or write `replaces " + rule->name.text + "`";
                isGood = false;
            }
            if (isGood && !library.namesOf(parsed->file.source).operators.empty()) {
                Diagnostics ignored; // what stands in the way is told by the proof
                auto writtenOut = std::make_shared<Rule>();
                if (RuleCompiler(library, ignored, parsed->file, forms, facts)
                        .compileWrittenOut(*rule, *writtenOut))
                    compiled.writtenOut = std::move(writtenOut);
            }
            if (isGood)
                out.rules.push_back(std::move(compiled));
        }
    }
    return made;
}

} // namespace fuselage::dsl
