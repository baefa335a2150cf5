// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/derive.h"

#include "app/pipeline/derive_internal.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/prove/sample.h"
#include "app/pipeline/rule_tests.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

constexpr uint32_t graphsTried = 24; ///< to find a small one for the test

std::string nameFor(const SharedPattern& pattern, const DeriveOptions& options) {
    return options.name.empty() ? "My" + pattern.operators : options.name;
}

Result<RuleLibrary> libraryOf(const std::string& text) {
    RuleOptions rules;
    rules.builtin = false;
    rules.texts = {{"derived.fuse", text}};
    return requireRuleLibrary(rules);
}

/// The nodes of each match that is applied; near misses for what did not come.
Result<Trace> applied(const Graph& graph, const RuleLibrary& library, Progress& progress) {
    FuseOptions options;
    options.explain = true;
    auto out = fuseGraph(graph, library, options, progress);
    if (!out)
        return failure(out.error());
    return std::move(out->trace);
}

std::string escapedQuotes(const std::string& text) {
    std::string out;
    for (char c : text) {
        if (c == '\n')
            c = ' ';
        else if (c == '"' || c == '\\')
            out += '\\';
        if (!(c == ' ' && out.ends_with(' ')))
            out += c;
    }
    return out;
}

std::string testText(const std::string& title, const Graph& graph, const std::string& expects) {
    TextOptions options;
    options.maxConstant = 64;
    std::string body = escapedQuotes(text(graph, options));
    while (body.ends_with(' '))
        body.pop_back();
    return fmt::format("\n  test \"{}\" {{\n    graph \"{}\";\n{}  }}\n", title, body, expects);
}

/// The rule's matches in a graph, when all of them are applied.
uint32_t firesIn(const Graph& graph, const RuleLibrary& library, Progress& progress) {
    const FuseOptions usual;
    auto out = fuseGraph(graph, library, usual, progress);
    return out ? out->trace.applied(library.loaded.rules.rules[0].name) : 0;
}

/// Generated graphs in which the rule fires once and all can be written, smallest first.
std::vector<Graph> firingGraphs(const RuleLibrary& library, Progress& progress) {
    auto prepared = prepareRule(library.loaded.rules.rules[0]);
    std::vector<std::pair<size_t, Graph>> found;
    PairCoverage coverage;
    for (uint32_t seed = 0; seed < graphsTried && !progress.cancelled(); ++seed) {
        Choices choices = seed == 0 ? Choices(std::vector<uint32_t>()) : Choices(seed, coverage);
        auto sample = generateSample(*prepared, choices, progress);
        if (!sample || firesIn(sample->graph, library, progress) != 1)
            continue;
        TextOptions options;
        options.maxConstant = 64;
        const std::string text = fuselage::text(sample->graph, options);
        if (model_io::loadText(text))
            found.emplace_back(text.size(), std::move(sample->graph));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Graph> out;
    for (auto& [size, graph] : found)
        out.push_back(std::move(graph));
    return out;
}

/// The graph with one more reader of a value that the match makes and reads: it must be refused.
std::optional<Graph> escapingGraph(const Graph& graph, const RuleLibrary& library,
                                   Progress& progress) {
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        if (node.outputs.size() != 1 || graph.isGraphOutput(node.outputs[0]))
            continue;
        Graph out = graph.clone();
        NodeSpec reader{Op::Identity, "other", {node.outputs[0]}, {"other"}, {}, {}};
        NodeId made = out.addNode(std::move(reader));
        ValueId value = out.node(made).outputs[0];
        out.setType(value, graph.value(node.outputs[0]).type);
        out.addOutput(value);
        auto trace = applied(out, library, progress);
        if (!trace || trace->applied(library.loaded.rules.rules[0].name) > 0)
            continue;
        for (const TraceEvent& event : trace->events)
            if (event.reason.code == code::escape)
                return out;
    }
    return std::nullopt;
}

/// Whether the tests in the text of one rule pass.
bool allPass(const std::string& text, Progress& progress) {
    auto library = libraryOf(text);
    auto results = library ? runRuleTests(*library, {}, progress)
                           : Result<std::vector<RuleTestResult>>(failure(library.error()));
    return results && !results->empty() &&
           std::all_of(results->begin(), results->end(),
                       [](const RuleTestResult& result) { return result.passed(); });
}

/// Tests to go into the rule, which pass: one that fires, one in which a value is read elsewhere.
std::string testsFor(const RuleLibrary& library,
                     FunctionRef<std::string(const std::string&)> ruleWith, uint32_t& count,
                     Progress& progress) {
    for (const Graph& fires : firingGraphs(library, progress)) {
        std::string out = testText("fires", fires, "    expect fires 1;\n    expect same 1e-4;\n");
        if (!allPass(ruleWith(out), progress))
            continue;
        count = 1;
        auto escapes = escapingGraph(fires, library, progress);
        const std::string more = escapes ? testText("a value inside is read elsewhere", *escapes,
                                                    "    expect fires 0;\n    expect miss M0305;\n")
                                         : "";
        if (more.empty() || !allPass(ruleWith(more), progress))
            return out;
        ++count;
        return out + more;
    }
    return {};
}

/// How often the rule fires on the sites and elsewhere; an error names a site without.
Result<void> countSites(const Graph& graph, const std::vector<SiteNodes>& sites,
                        const RuleLibrary& library, DerivedRule& out, Progress& progress) {
    auto trace = applied(graph, library, progress);
    if (!trace)
        return failure(trace.error());
    std::set<std::set<std::string>> found;
    for (const TraceEvent& event : trace->events)
        if (event.kind == TraceEvent::Kind::Fused)
            found.insert({event.nodes.begin(), event.nodes.end()});
    for (const SiteNodes& site : sites) {
        std::set<std::string> names;
        for (NodeId id : site)
            names.insert(graph.node(id).name);
        if (found.erase(names) == 1) {
            ++out.sites;
            continue;
        }
        std::string why = "it does not match there";
        for (const NearMiss& miss : trace->nearMisses)
            if (names.contains(miss.anchor))
                why = miss.reason.message;
        for (const TraceEvent& event : trace->events)
            if (event.kind == TraceEvent::Kind::Refused && names.contains(event.nodes.back()))
                why = event.reason.message;
        if (sites.size() == 1)
            return failure("derive.verify", "the rule for these nodes does not fire there: " + why,
                           "",
                           names.size() > 1 ? "derive from fewer nodes"
                                            : "derive from it and a node before or behind it");
        return failure("derive.verify",
                       fmt::format("the rule found in common does not fire on the site of `{}`: {}",
                                   graph.node(site.back()).name, why),
                       "", "derive from fewer sites, or from fewer nodes");
    }
    out.others = static_cast<uint32_t>(found.size());
    return {};
}

} // namespace

std::string ruleText(const SharedPattern& pattern, const std::string& name,
                     const DeriveOptions& options, const std::string& note,
                     const std::string& tests) {
    return fmt::format("fuse 1;\n\n/// {}\nrule {} priority {} {{\n  match {{\n{}  }}\n{}{}}}\n",
                       note, name, options.priority, pattern.statements, pattern.escapes, tests);
}

Result<std::string> deriveRule(const Graph& graph, const std::vector<std::string>& nodes,
                               const DeriveOptions& options) {
    auto sites = resolveSites(graph, {nodes});
    if (!sites)
        return failure(sites.error());
    auto pattern = sharedPattern(graph, *sites);
    if (!pattern)
        return failure(pattern.error());
    return ruleText(*pattern, nameFor(*pattern, options), options,
                    fmt::format("{} nodes, derived from a selection.", (*sites)[0].size()), {});
}

Result<DerivedRule> deriveShared(const Graph& graph,
                                 const std::vector<std::vector<std::string>>& names,
                                 const DeriveOptions& options, Progress& progress) {
    auto sites = resolveSites(graph, names);
    if (!sites)
        return failure(sites.error());
    auto pattern = sharedPattern(graph, *sites);
    if (!pattern)
        return failure(pattern.error());
    DerivedRule out;
    out.name = nameFor(*pattern, options);
    std::string note = sites->size() == 1
                           ? fmt::format("{} nodes of one place.", (*sites)[0].size())
                           : fmt::format("What {} places have in common.", sites->size());
    auto library = libraryOf(ruleText(*pattern, out.name, options, note, {}));
    if (!library)
        return failure(library.error());
    if (auto counted = countSites(graph, *sites, *library, out, progress); !counted)
        return failure(counted.error());
    auto ruleWith = [&](const std::string& tests) {
        return ruleText(*pattern, out.name, options, note, tests);
    };
    std::string tests = testsFor(*library, ruleWith, out.tests, progress);
    if (progress.cancelled())
        return cancelledFailure("deriving");
    out.text = ruleWith(tests);
    if (auto checked = libraryOf(out.text); !checked)
        return failure(checked.error());
    return out;
}

} // namespace fuselage::app
