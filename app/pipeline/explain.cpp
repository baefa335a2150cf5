// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/explain.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/explain_internal.h"
#include "app/pipeline/flip.h"
#include "app/pipeline/foreign_rules.h"
#include "app/pipeline/pair_effects.h"
#include "app/pipeline/source_place.h"
#include "core/graph/bodies.h"
#include "dsl/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace fuselage::app {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Error with the nearest name that there is.
Result<void> requireName(const char* code, const char* what, const std::string& name,
                         const std::vector<std::string>& known, const std::string& otherwise) {
    if (name.empty() || contains(known, name))
        return {};
    return failure(code, fmt::format("no {} `{}`", what, name), "",
                   dsl::didYouMean(dsl::closest(name, known), otherwise));
}

/// Where a node that is not there by itself may be: inside a body, or the nodes that it was read
/// as, or that are named below it.
std::string whereInstead(const std::string& node, const std::vector<std::string>& nodes) {
    if (node.empty())
        return {};
    constexpr size_t most = 6;
    std::vector<std::string> parts;
    for (const std::string& each : nodes)
        if (each.starts_with(node + "/"))
            parts.push_back(each);
    if (!parts.empty())
        return fmt::format("{} {} stand below that name: {}", parts.size(),
                           parts.size() == 1 ? "node" : "nodes", dsl::listed(parts, most));
    const auto inBody = std::ranges::find_if(
        nodes, [&](const std::string& each) { return each.ends_with("/" + node); });
    return inBody == nodes.end()
               ? "`fuselage inspect --graph` lists the nodes that are there after folding"
               : "a node of a body, or of what is written out, has its path in front: `" + *inBody +
                     "`";
}

/// The node that makes the value of that name, where no node has the name.
std::string nodeNamed(const Graph& graph, const std::string& name) {
    std::string maker;
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (node.name == name)
            return name;
        for (ValueId output : node.outputs)
            if (output.valid() && graph.value(output).name == name)
                maker = node.name;
    }
    return maker.empty() ? name : maker;
}

Result<void> requireNames(const LoadedModel& model, const RuleLibrary& library,
                          const ExplainOptions& options) {
    std::vector<std::string> rules, nodes;
    for (const Rule& rule : library.loaded.rules.rules)
        rules.push_back(rule.name);
    for (NodeId id : topologicalOrder(model.graph))
        nodes.push_back(model.graph.node(id).name);
    for (const BodyPlace& body : bodiesOf(model.graph))
        for (NodeId id : topologicalOrder(*body.graph))
            nodes.push_back(body.path + body.graph->node(id).name);
    if (auto known = requireName("usage.rule", "rule", options.rule, rules,
                                 "one of: " + dsl::listed(rules, 12));
        !known)
        return known;
    for (const std::string& node : {options.node, options.with})
        if (auto known = requireName("usage.node", "node", node, nodes, whereInstead(node, nodes));
            !known)
            return known;
    return {};
}

/// Rules of the library that tidy what exporters leave; that nothing is left to tidy is normal.
std::set<std::string> tidyRules(const RuleLibrary& library) {
    std::set<std::string> out;
    for (const Rule& rule : library.loaded.rules.rules)
        if (rule.phase == "canonicalize" && isBuiltIn(rule.file))
            out.insert(rule.name);
    return out;
}

/// By an `unless` a rule of the library leaves nodes to others, and others have them.
bool isLeftToOthers(const Finding& finding) {
    return finding.stage == Finding::Stage::Match && finding.reason.code == code::unless &&
           isBuiltIn(finding.file) && finding.openSites() == 0;
}

/// Complete matches that lost their nodes are normal, and those that were left to others, and so
/// are rules of the library for networks of another kind, and those that tidy: one line for all,
/// unless asked for.
void setNormalAside(const RuleLibrary& library, std::vector<FindingList::Entry>& entries,
                    Explanation& out) {
    std::set<std::string> rules, absent, tidy, held;
    const std::set<std::string> tidying = tidyRules(library);
    std::erase_if(entries, [&](const FindingList::Entry& entry) {
        if (entry.finding.absent && isBuiltIn(entry.finding.file)) {
            absent.insert(entry.finding.rule);
            return true;
        }
        if (entry.finding.isHeld && isBuiltIn(entry.finding.file)) {
            held.insert(entry.finding.rule);
            return true;
        }
        bool nearMiss = entry.finding.stage == Finding::Stage::Match;
        if (nearMiss && out.node.empty() && tidying.contains(entry.finding.rule)) {
            tidy.insert(entry.finding.rule);
            return true;
        }
        if ((entry.finding.stage != Finding::Stage::Select && !isLeftToOthers(entry.finding)) ||
            !out.node.empty())
            return false;
        out.takenMatches += static_cast<uint32_t>(entry.finding.sites.size());
        rules.insert(entry.finding.rule);
        return true;
    });
    out.takenRules.assign(rules.begin(), rules.end());
    out.absentRules = static_cast<uint32_t>(absent.size());
    out.heldRules = static_cast<uint32_t>(held.size());
    out.tidyRules = static_cast<uint32_t>(tidy.size());
}

/// What stands first is read first: a person's own rules, those of which one test alone fails,
/// those that know most of the nodes here (a long pattern with one step missing before a short one
/// of other nodes), few steps missing, a change that works, many places, much gain.
auto rankOf(const Finding& finding) {
    uint32_t missing = finding.steps - std::min(finding.step, finding.steps);
    bool theirs = finding.stage == Finding::Stage::Match && isBuiltIn(finding.file);
    int order = finding.stage == Finding::Stage::Start    ? 4
                : finding.stage == Finding::Stage::Select ? 3
                : theirs                                  ? 2
                : finding.openSites() == 0                ? 1
                                                          : 0;
    const auto& outcome = finding.outcome;
    bool fails = outcome && !outcome->helps();
    return std::tuple(order, finding.isStrange, theirs && finding.openSites() == 0,
                      !finding.isAllButOne, -static_cast<int64_t>(finding.step), missing, fails,
                      -static_cast<int64_t>(finding.openSites()),
                      -static_cast<int64_t>(finding.sites.size()), outcome ? -outcome->us : 0.0);
}

/// Notes which near misses of the library want an operator that the model does not have: a float
/// network has no pairs for rules of quantised ones.
void noteStrange(const OpSet& operators, std::vector<FindingList::Entry>& entries) {
    std::set<std::string, std::less<>> present;
    for (size_t i = 0; i < operators.size(); ++i)
        if (operators.test(i))
            present.emplace(nameOf(static_cast<Op>(i)));
    for (FindingList::Entry& entry : entries)
        for (const ReasonFact& fact : entry.finding.reason.facts)
            if (fact.name == "operator")
                entry.finding.isStrange = entry.finding.stage == Finding::Stage::Match &&
                                          isBuiltIn(entry.finding.file) &&
                                          !present.contains(fact.value);
}

void rank(std::vector<FindingList::Entry>& entries) {
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
        return rankOf(a.finding) < rankOf(b.finding);
    });
}

/// The change is none that anybody should make.
void withdraw(Finding& finding) {
    finding.reason.flip.clear();
    finding.change.reset();
}

constexpr size_t mostLoaded = 40;

/// The first few in the order of ranks are run; those behind them are offered when the rules load
/// with them.
void tryChanges(const Graph& graph, const RuleLibrary& library, const ExplainOptions& options,
                const Analysis& now, std::vector<FindingList::Entry>& entries, Progress& progress) {
    const size_t nodesNow = countNodes(*now.fused);
    FuseOptions fusing = options.fuse;
    fusing.dims = now.dims;
    std::optional<Result<std::shared_ptr<const Plan>>> planNow;
    size_t tried = 0, loaded = 0;
    for (FindingList::Entry& entry : entries) {
        if (progress.cancelled())
            break;
        if (!entry.edit)
            continue;
        if (tried == options.tries) {
            if (loaded++ >= mostLoaded || !loadsWith(library, options.rules, *entry.edit))
                withdraw(entry.finding);
            continue;
        }
        if (!planNow)
            planNow = planToJudge(*now.fused, library, fusing, progress);
        progress.report("trying changes", tried++, options.tries);
        auto flip = *planNow ? tryFlip(graph, library, options.rules, fusing, entry.finding.rule,
                                       {now.trace, ***planNow}, *entry.edit, progress)
                             : Result<FlipGain>(failure(planNow->error()));
        Finding& finding = entry.finding;
        if (flip)
            finding.outcome =
                ChangeOutcome{flip->before,
                              flip->fires,
                              flip->us,
                              static_cast<int64_t>(flip->nodes) - static_cast<int64_t>(nodesNow),
                              static_cast<int64_t>(flip->bytes),
                              flip->isUnsound};
        else if (progress.cancelled())
            break;
        // The changed rule does not load, another step fails then, or it is predicted to cost time.
        // Who wrote a rule or asks for it wants it to fire; what the rest of the library leaves is
        // worth saying if it saves.
        if (!finding.outcome || !finding.outcome->helps() ||
            (options.rule.empty() && isBuiltIn(finding.file) && !finding.outcome->saves()))
            withdraw(finding);
    }
}

std::vector<RuleStanding> standings(const RuleLibrary& library, const Trace& trace,
                                    const TakenNodes& taken, const std::string& only) {
    std::map<std::string, uint32_t> near;
    for (const NearMiss& miss : trace.nearMisses)
        near[miss.rule] += taken.isOf(miss.rule, miss.anchor) ? 0 : 1;
    for (const TraceEvent& event : trace.events)
        if (event.kind == TraceEvent::Kind::Refused)
            ++near[event.rule];
    std::vector<RuleStanding> out;
    for (const Rule& rule : library.loaded.rules.rules) {
        if (!only.empty() && rule.name != only)
            continue;
        RuleStanding& standing = out.emplace_back();
        standing = {rule.name, rule.file, rule.line, rule.phase, 0, 0, 0, rule.hints};
        for (const RuleCount& count : trace.counts)
            if (count.rule == rule.name) {
                standing.matched += count.matched;
                standing.applied += count.applied;
            }
        standing.places = standing.applied + near[rule.name];
    }
    return out;
}

/// Where the exporter says that the places of all findings come from.
void addOrigins(const Graph& graph, Explanation& out) {
    std::unordered_map<std::string, std::string> known;
    const auto addNodes = [&](const Graph& of, const std::string& path) {
        for (NodeId id : of.nodes())
            if (auto origins = sourcePlaces(of.node(id)); !origins.empty())
                known.emplace(path + of.node(id).name, std::move(origins.front()));
    };
    addNodes(graph, "");
    for (const BodyPlace& body : bodiesOf(graph))
        addNodes(*body.graph, body.path);
    for (Finding& finding : out.findings)
        for (FindingSite& site : finding.sites)
            if (auto origin = known.find(site.node); origin != known.end())
                site.origin = origin->second;
    if (const NodePlace asked = findByPath(graph, out.node); asked.graph)
        out.origins = sourcePlaces(asked.graph->node(asked.node));
}

bool concerns(const PairReport& pair, const std::string& node) {
    return pair.store == node || pair.load == node ||
           std::any_of(pair.readers.begin(), pair.readers.end(),
                       [&](const PairReader& reader) { return reader.node == node; });
}

/// The pairs, and what is amiss with them; of a node that was asked for those that it has a part
/// in.
Result<void> addPairs(const LoadedModel& model, const RuleLibrary& library,
                      const ExplainOptions& options, const Analysis& analysis, Explanation& out,
                      Progress& progress) {
    auto pairs =
        pairEffects(model, library, options.fuse, *analysis.fused, *analysis.after.plan, progress);
    if (!pairs)
        return failure(pairs.error());
    for (PairReport& pair : *pairs)
        if (options.node.empty() || concerns(pair, options.node))
            out.pairs.push_back(std::move(pair));
    if (out.pairs.empty() || !options.lintPairs)
        return {};
    out.remarks = options.lintPairs(model.graph, *analysis.fused);
    std::erase_if(out.remarks, [&](const PairRemark& remark) {
        return !options.node.empty() && remark.node != options.node &&
               std::ranges::none_of(
                   out.pairs, [&](const PairReport& pair) { return concerns(pair, remark.node); });
    });
    return {};
}

} // namespace

Result<Explanation> explainModel(const LoadedModel& model, const RuleLibrary& library,
                                 const ExplainOptions& asked, Progress& progress) {
    ExplainOptions options = asked;
    options.node = nodeNamed(model.graph, asked.node);
    options.with = nodeNamed(model.graph, asked.with);
    if (auto known = requireNames(model, library, options); !known)
        return failure(known.error());
    auto profile = deviceProfile(options.fuse.profile);
    if (!profile)
        return failure(profile.error());
    AnalysisOptions analysing;
    analysing.fuse = options.fuse;
    analysing.fuse.explain = true;
    analysing.everyNearMiss = !options.rule.empty();
    analysing.profile = *profile;
    const std::unique_ptr<Backend> backend = planningBackendOf(*profile);
    analysing.backend = backend.get();
    auto analysis = analyse(model, library, analysing, progress);
    if (!analysis)
        return failure(analysis.error());
    const TakenNodes taken(analysis->trace);
    FindingList findings(library, taken, options);
    findings.addTrace(analysis->trace);
    addSplits(*analysis, findings);
    addUnsearched(model.graph, options, analysis->trace, findings, progress);
    findings.dropEmpty();

    Explanation out;
    out.model = model.path;
    out.notes = model.notes;
    out.pipeline = options.fuse.pipeline;
    out.decide = nameOf(options.fuse.decide);
    out.device = options.fuse.profile;
    out.rule = options.rule;
    out.node = options.node;
    out.with = options.with;
    if (!options.node.empty() && options.with.empty())
        out.planned = plannedFor(*analysis->after.plan, model.graph, options.node);
    out.nodesBefore = countNodes(model.graph);
    out.nodesAfter = countNodes(*analysis->fused);
    out.rules = standings(library, analysis->trace, taken, options.rule);
    auto& entries = findings.entries();
    noteStrange(operatorsIn(model.graph), entries);
    if (options.rule.empty())
        setNormalAside(library, entries, out);
    rank(entries);
    tryChanges(model.graph, library, options, *analysis, entries, progress);
    if (progress.cancelled())
        return cancelledFailure("explaining");
    rank(entries);
    for (FindingList::Entry& entry : entries)
        out.findings.push_back(std::move(entry.finding));
    addOrigins(model.graph, out);
    if (auto added = addPairs(model, library, options, *analysis, out, progress); !added)
        return failure(added.error());
    for (const PrecisionReport::Kept& kept : analysis->report.precision.kept)
        if (options.node.empty() || kept.node == options.node)
            out.kept.push_back(kept);
    if (!options.node.empty())
        for (const TraceEvent& event : analysis->trace.events)
            if (event.applied() && contains(event.nodes, options.node) &&
                (options.with.empty() || contains(event.nodes, options.with)))
                out.happened.push_back(event);
    return out;
}

} // namespace fuselage::app
