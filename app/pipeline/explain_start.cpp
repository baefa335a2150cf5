// SPDX-License-Identifier: Apache-2.0
// Rules that left nothing in a trace. Their phase is not in the pipeline, the opset is not theirs,
// another rule replaces them, or the model has no node that the search could start at; then the
// pattern is searched with any operator in that place, which says what stands there instead.
#include "app/pipeline/explain_internal.h"
#include "app/pipeline/foreign_rules.h"
#include "core/graph/bodies.h"
#include "core/graph/text.h"
#include "core/rewrite/engine.h"
#include "core/support/text.h"
#include "dsl/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::app {

namespace {

constexpr size_t mostAlternatives = 3; ///< operators that stand where the pattern begins

/// The node term that a search of the rule starts at; none for regions, values and the like.
std::optional<TermId> startOf(const PreparedRule& prepared) {
    const BlockPlan& plan = prepared.plan;
    if (plan.roots.empty() || plan.anchoredByUsers)
        return std::nullopt;
    TermId id = plan.block->definitions[plan.roots[0]].term;
    for (;;) {
        const Term& term = prepared.rule.term(id);
        if (term.kind == Term::Kind::Node)
            return id;
        if (term.kind == Term::Kind::Pipe)
            id = term.step;
        else if (term.kind == Term::Kind::Choice)
            id = term.alternatives.front().term;
        else
            return std::nullopt;
    }
}

std::string namesOf(const OpSet& ops) {
    std::vector<std::string> names;
    for (size_t i = 0; i < ops.size(); ++i)
        if (ops.test(i))
            names.emplace_back(nameOf(static_cast<Op>(i)));
    return dsl::listed(names, 6);
}

/// Operators that the search may start at.
OpSet anchorsOf(const PreparedRule& prepared) {
    OpSet out;
    for (TermId head : prepared.heads)
        out |= prepared.ops[head.index()];
    return out;
}

class Unsearched {
public:
    Unsearched(const Graph& graph, const ExplainOptions& options, FindingList& findings,
               Progress& progress)
        : m_graph(graph), m_options(options.fuse), m_asked(options), m_progress(progress),
          m_findings(findings), m_facts(graph), m_convexity(graph),
          m_operators(operatorsIn(graph)) {
        for (const BodyPlace& body : bodiesOf(graph))
            for (NodeId id : body.graph->nodes())
                m_inBodies.set(static_cast<size_t>(body.graph->node(id).op));
    }

    void explain(const Rule& rule) {
        if (auto reason = whyNotAsked(rule)) {
            const OpSet anchors = anchorsOf(*prepareRule(rule));
            const bool absent =
                isForeign(rule, m_operators) ||
                (isBuiltIn(rule.file) && anchors.any() && (anchors & m_operators).none());
            addStart(rule, std::move(*reason)).absent = absent;
            return;
        }
        if (isForeign(rule, m_operators)) {
            const std::string ops = missingOps(rule);
            addStart(rule, {code::otherOp,
                            "it needs " + ops + ", and the model has none",
                            {},
                            {{"found", "no such node"}, {"expected", ops}}})
                .absent = true;
            return;
        }
        auto prepared = prepareRule(rule);
        auto start = startOf(*prepared);
        if (start && prepared->steps > 1 && searchAnyOperator(rule, *prepared, *start))
            return;
        const OpSet anchors = anchorsOf(*prepared);
        if ((anchors & m_facts.present).any() && explainHeld(rule, anchors))
            return;
        std::string ops = anchors.none() ? "" : namesOf(anchors);
        Reason reason{code::otherOp, "nothing in the model is where its search starts", {}, {}};
        if (!ops.empty())
            reason = {code::otherOp,
                      "its search starts at " + ops +
                          ((anchors & m_inBodies).any()
                               ? ", and the bodies that have it lack another operator of the rule"
                               : ", and the model has none"),
                      {},
                      {{"found", "no such node"}, {"expected", ops}}};
        addStart(rule, std::move(reason)).absent = true;
    }

private:
    /// Other matches took the nodes where the search would have started.
    bool explainHeld(const Rule& rule, const OpSet& anchors) {
        const std::set<std::string> holders = m_findings.taken().holders(m_graph, anchors);
        if (holders.empty())
            return false;
        const bool isAsked = !isBuiltIn(rule.file) || m_findings.rule() == rule.name;
        if (isAsked && addHeld(m_graph, m_asked, rule, anchors, m_findings, m_progress))
            return true;
        const std::string by = dsl::listed({holders.begin(), holders.end()}, 6);
        addStart(rule, {code::otherOp,
                        fmt::format("its search starts at {}, and {} took what the model has of "
                                    "them",
                                    namesOf(anchors), by),
                        {},
                        {{"found", "nodes of " + by}, {"expected", namesOf(anchors)}}})
            .isHeld = true;
        return true;
    }

    Finding& addStart(const Rule& rule, Reason reason) {
        Finding& finding = m_findings.at(rule.name + "\nstart", rule, rule.span, {});
        finding.stage = Finding::Stage::Start;
        finding.steps = 1;
        finding.reason = std::move(reason);
        return finding;
    }

    /// Operators of which the rule needs one.
    std::string missingOps(const Rule& rule) const {
        for (const OpSet& needed : neededOps(rule))
            if ((needed & m_operators).none())
                return namesOf(needed);
        return {};
    }

    /// Why the rule takes no part at all, whatever the model.
    std::optional<Reason> whyNotAsked(const Rule& rule) const {
        const RuleSet& rules = m_findings.library().loaded.rules;
        for (const Rule& other : rules.rules)
            if (other.replaces == rule.name)
                return Reason{
                    "replaced",
                    fmt::format("`{}` ({}:{}) replaces it", other.name, other.file, other.line),
                    {},
                    {}};
        if (const Pipeline* pipeline = findPipeline(rules, m_options.pipeline)) {
            std::vector<std::string> phases;
            for (const PhaseStep& step : pipeline->steps)
                phases.push_back(step.phase);
            if (std::find(phases.begin(), phases.end(), rule.phase) == phases.end())
                return Reason{"phase",
                              fmt::format("its phase `{}` is not in pipeline `{}`", rule.phase,
                                          pipeline->name),
                              "name a pipeline that has it with --pipeline",
                              {{"found", joined(phases)}, {"expected", rule.phase}}};
        }
        if (m_options.strict && !keepsBits(rule))
            return Reason{"numeric-class",
                          "--strict leaves rewrites out that are not `numeric exact`",
                          "leave --strict out",
                          {{"found", nameOf(rule.numeric)}, {"expected", "exact"}}};
        return whyNotThisOpset(rule);
    }

    std::optional<Reason> whyNotThisOpset(const Rule& rule) const {
        auto opset = m_graph.opsetImports.find("");
        bool fits = opset == m_graph.opsetImports.end() ||
                    (opset->second >= rule.minOpset &&
                     (rule.maxOpset == 0 || opset->second < rule.maxOpset));
        if (fits)
            return std::nullopt;
        std::string range = fmt::format("opset >= {}", rule.minOpset);
        if (rule.maxOpset > 0)
            range += fmt::format(" < {}", rule.maxOpset);
        return Reason{
            "opset",
            fmt::format("the model has opset {}, the rule is for {}", opset->second, range),
            "widen the `opset` line above the rule",
            {{"found", std::to_string(opset->second)}, {"expected", range}}};
    }

    /// The pattern with any operator where its search starts.
    bool searchAnyOperator(const Rule& rule, const PreparedRule& prepared, TermId start) {
        Rule open = rule;
        Term& term = open.terms[start.index()];
        const Term& wanted = rule.term(start);
        term.tests.clear();
        term.ops.clear();
        for (size_t i = 0; i < static_cast<size_t>(Op::Count_); ++i)
            if (auto op = static_cast<Op>(i); op != Op::Unknown && op != Op::Fused)
                term.ops.push_back(op);
        Matcher matcher(m_graph, m_facts, m_convexity, {});
        MatchResult result;
        matcher.find(*prepareRule(open), result);
        std::map<Op, std::vector<const Match*>> byOp;
        for (const Match& match : result.matches)
            byOp[m_graph.node(match.anchor).op].push_back(&match);
        std::vector<std::pair<Op, std::vector<const Match*>>> ranked(byOp.begin(), byOp.end());
        std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
            return a.second.size() > b.second.size();
        });
        for (size_t i = 0; i < ranked.size() && i < mostAlternatives; ++i)
            addInstead(rule, wanted, ranked[i].first, ranked[i].second, prepared.steps);
        return !ranked.empty();
    }

    void addInstead(const Rule& rule, const Term& wanted, Op found,
                    const std::vector<const Match*>& matches, uint32_t steps) {
        std::string name(nameOf(found)), head = wanted.text;
        std::optional<RuleEdit> edit;
        if (std::all_of(head.begin(), head.end(),
                        [](unsigned char c) { return std::isalnum(c) != 0 || c == '.'; }))
            edit = RuleEdit{RuleEdit::Kind::Alternative, wanted.span, head, name};
        Finding& finding = m_findings.at(rule.name + "\nstart " + name, rule, wanted.span, edit);
        finding.stage = Finding::Stage::Match;
        finding.absent = true;
        finding.steps = std::max(steps, 1U);
        finding.step = finding.steps - 1;
        finding.reason = {
            code::otherOp,
            fmt::format("found {}, the rule wants {}, of which the model has none", name, head),
            edit ? fmt::format("add an alternative: `({} | {})`", head, name) : "",
            {{"found", name}, {"expected", head}}};
        for (const Match* match : matches) {
            FindingSite site{m_graph.node(match->anchor).name,
                             fuselage::namesOf(m_graph, match->nodes), false};
            if (m_findings.isWanted(rule.name, site))
                finding.sites.push_back(std::move(site));
        }
    }

    const Graph& m_graph;
    const FuseOptions& m_options;
    const ExplainOptions& m_asked;
    Progress& m_progress;
    FindingList& m_findings;
    GraphFacts m_facts;
    Convexity m_convexity;
    OpSet m_operators;
    OpSet m_inBodies; ///< operators in bodies of If, Loop and Scan
};

} // namespace

void addUnsearched(const Graph& graph, const ExplainOptions& options, const Trace& trace,
                   FindingList& findings, Progress& progress) {
    std::set<std::string> searched;
    for (const RuleCount& count : trace.counts)
        if (count.matched > 0 || count.refused > 0)
            searched.insert(count.rule);
    for (const NearMiss& miss : trace.nearMisses)
        searched.insert(miss.rule);
    for (const TraceEvent& event : trace.events)
        searched.insert(event.rule);
    Unsearched unsearched(graph, options, findings, progress);
    for (const Rule& rule : findings.library().loaded.rules.rules)
        if (!searched.contains(rule.name) &&
            (findings.rule().empty() || findings.rule() == rule.name))
            unsearched.explain(rule);
}

} // namespace fuselage::app
