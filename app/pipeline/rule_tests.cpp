// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/rule_tests.h"

#include "app/pipeline/agreement.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/gain.h"
#include "core/onnx/model_text.h"
#include "core/ops/op_schema.h"
#include "core/passes/passes.h"
#include "dsl/names_elsewhere.h"
#include "dsl/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace fuselage::app {

namespace {

using dsl::RuleTest;

bool chosen(const RuleTestOptions& options, const std::string& rule, const std::string& file) {
    return (options.rule.empty() || rule == options.rule) &&
           (options.files.empty() ||
            std::find(options.files.begin(), options.files.end(), file) != options.files.end());
}

std::string whereOf(const RuleLibrary& library, const Span& span) {
    const Source& source = (*library.sources)[span.source];
    return fmt::format("{}:{}", source.name(), source.position(span.begin).line);
}

const Rule* findRule(const RuleSet& rules, const std::string& name) {
    for (const Rule& rule : rules.rules)
        if (rule.name == name)
            return &rule;
    return nullptr;
}

/// The pipeline "default" when the rule's phase is in it, else that phase alone.
Pipeline pipelineFor(const RuleSet& rules, const Rule& rule) {
    if (const Pipeline* standard = findPipeline(rules, "default"))
        for (const PhaseStep& step : standard->steps)
            if (step.phase == rule.phase)
                return *standard;
    return {"test", {{rule.phase, false, PhaseStep::Selection::Exact}}};
}

/// Tests of one graph through one pipeline share its rewriting.
struct Subject {
    RuleTest::Given given = RuleTest::Given::Nothing;
    std::string text;  ///< graph, zoo name or path
    std::string phase; ///< of a pipeline of its own, else empty
    bool explain = false;

    friend auto operator<=>(const Subject&, const Subject&) = default;
};

struct Run {
    Graph before;
    Rewritten after;
};

class Runner {
public:
    Runner(const RuleLibrary& library, const RuleTestOptions& options, Progress& progress)
        : m_library(library), m_options(options), m_progress(progress) {}

    Result<std::vector<RuleTestResult>> run();

private:
    RuleTestResult resultOf(const RuleTest& test) const;
    Subject subjectOf(const RuleTest& test, bool explain) const;
    Result<Graph> graphOf(const RuleTest& test) const;
    Result<Run> rewritten(const RuleTest& test, bool explain) const;
    void check(const Run& run, RuleTestResult& result) const;
    void checkMisses(const Trace& trace, RuleTestResult& result) const;
    void checkSame(const Run& run, RuleTestResult& result) const;

    const RuleLibrary& m_library;
    const RuleTestOptions& m_options;
    Progress& m_progress;
};

/// A misspelt operator: no rule fires on it, so a test that says so would pass by mistake.
std::string operatorThatIsNone(const Graph& graph) {
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (node.op == Op::Unknown && node.customDomain.empty() &&
            !publishedSchema("", node.customOp, INT64_MAX))
            return node.customOp;
    }
    return {};
}

std::string fileOf(const RuleTest& test) {
    std::filesystem::path path(test.subject);
    if (path.is_relative())
        path = std::filesystem::path(test.file).parent_path() / path;
    return path.string();
}

RuleTestResult Runner::resultOf(const RuleTest& test) const {
    RuleTestResult out;
    out.test = &test;
    out.where = whereOf(m_library, test.span);
    if (test.given == RuleTest::Given::Model && !std::filesystem::exists(fileOf(test)))
        out.skipped = "no model file " + fileOf(test);
    if (test.given == RuleTest::Given::Zoo && !m_options.zoo)
        out.skipped = "no zoo here";
    if (!findRule(m_library.loaded.rules, test.rule))
        out.failures.push_back({"rule `" + test.rule + "`", "the rule has errors or is replaced"});
    return out;
}

Subject Runner::subjectOf(const RuleTest& test, bool explain) const {
    const Rule* rule = findRule(m_library.loaded.rules, test.rule);
    Pipeline pipeline = pipelineFor(m_library.loaded.rules, *rule);
    return {test.given, test.given == RuleTest::Given::Model ? fileOf(test) : test.subject,
            pipeline.name == "default" ? "" : rule->phase, explain};
}

Result<Graph> Runner::graphOf(const RuleTest& test) const {
    model_io::LoadOptions reading;
    reading.whole = namedOperators(m_library); // as commands read a model for these rules
    switch (test.given) {
    case RuleTest::Given::Zoo:
        return m_options.zoo(test.subject);
    case RuleTest::Given::Model:
        return model_io::load(fileOf(test), reading, m_progress);
    default:
        auto graph = model_io::loadText(test.subject, reading);
        if (const std::string none = graph ? operatorThatIsNone(*graph) : ""; !none.empty()) {
            return failure(
                "test.graph", "`" + none + "` is no operator of ONNX", "",
                dsl::operatorFix(none, dsl::operatorNames(),
                                 "write one, or name its domain, `com.acme." + none + "`"));
        }
        return graph;
    }
}

Result<Run> Runner::rewritten(const RuleTest& test, bool explain) const {
    auto graph = graphOf(test);
    if (!graph)
        return failure(graph.error());
    enterDeclared(*graph, m_library); // so that `before` runs
    if (auto prepared = prepareGraph(*graph, m_progress); !prepared)
        return failure(prepared.error());
    // Expectations must not depend on the machine that runs them: gates see a profile that is data.
    auto profile = deviceProfile("h200");
    if (!profile)
        return failure(profile.error());
    const RuleSet& rules = m_library.loaded.rules;
    EngineOptions engine =
        engineOptions(*profile, {}, {Precision::Fp32, false, numericClasses(m_library)});
    engine.matcher.explain = explain;
    auto after = rewrite(graph->clone(), rules, pipelineFor(rules, *findRule(rules, test.rule)),
                         engine, m_progress);
    if (!after)
        return failure(after.error());
    return Run{std::move(*graph), std::move(*after)};
}

void Runner::checkMisses(const Trace& trace, RuleTestResult& result) const {
    const RuleTest& test = *result.test;
    std::vector<std::string> met;
    for (const NearMiss& miss : trace.nearMisses)
        if (miss.rule == test.rule)
            met.push_back(miss.reason.code);
    for (const TraceEvent& event : trace.events)
        if (event.rule == test.rule && event.kind == TraceEvent::Kind::Refused)
            met.push_back(event.reason.code);
    std::sort(met.begin(), met.end());
    met.erase(std::unique(met.begin(), met.end()), met.end());
    std::string all;
    for (const std::string& code : met)
        all += (all.empty() ? "" : ", ") + code;
    for (const std::string& code : test.misses)
        if (!std::binary_search(met.begin(), met.end(), code))
            result.failures.push_back({"miss " + code, all.empty() ? "no near miss" : all});
}

void Runner::checkSame(const Run& run, RuleTestResult& result) const {
    const double tolerance = *result.test->tolerance;
    AgreementOptions options;
    options.seed = m_options.seed;
    options.bits = tolerance == 0;
    auto agreements = compareForms(run.before, run.after.graph, options, m_progress);
    if (!agreements) {
        result.failures.push_back({fmt::format("same {}", tolerance), agreements.error().text()});
        return;
    }
    for (const OutputAgreement& it : *agreements)
        if (!(it.maxRelative <= tolerance) || (options.bits && !it.ok))
            result.failures.push_back(
                {fmt::format("same {}", tolerance),
                 fmt::format("`{}`, {}: {}", it.output, it.side,
                             it.note.empty() ? fmt::format("differs by {:.3g}", it.maxRelative)
                                             : it.note)});
}

void Runner::check(const Run& run, RuleTestResult& result) const {
    const RuleTest& test = *result.test;
    uint32_t fires = run.after.trace.applied(test.rule);
    if (test.fires && fires != *test.fires)
        result.failures.push_back(
            {fmt::format("fires {}", *test.fires), fmt::format("fires {}", fires)});
    if (test.nodes && run.after.graph.nodeCount() != *test.nodes)
        result.failures.push_back({fmt::format("nodes {}", *test.nodes),
                                   fmt::format("nodes {}", run.after.graph.nodeCount())});
    checkMisses(run.after.trace, result);
    std::set<std::string> cutOff;
    for (const TraceEvent& event : run.after.trace.events) {
        if (event.kind == TraceEvent::Kind::Refused && event.reason.code == code::budget)
            cutOff.insert(event.rule);
        if (event.kind == TraceEvent::Kind::Stopped)
            result.stopped.push_back(event.reason.text() + "; " + event.reason.flip);
    }
    result.cutOff.assign(cutOff.begin(), cutOff.end());
    if (test.tolerance)
        checkSame(run, result);
}

constexpr size_t mostReasons = 3;

std::vector<NearMiss> nearestOf(const Trace& trace, const std::string& rule) {
    std::vector<NearMiss> out;
    for (const NearMiss& miss : trace.nearMisses)
        if (miss.rule == rule)
            out.push_back(miss);
    std::stable_sort(out.begin(), out.end(),
                     [](const NearMiss& a, const NearMiss& b) { return a.step > b.step; });
    if (out.size() > mostReasons)
        out.resize(mostReasons);
    return out;
}

Result<std::vector<RuleTestResult>> Runner::run() {
    std::vector<RuleTestResult> out;
    // Tests of one subject run together, so that a large model is built once and one at a time.
    std::map<Subject, std::vector<size_t>> groups;
    for (const RuleTest& test : m_library.loaded.tests)
        if (chosen(m_options, test.rule, test.file)) {
            out.push_back(resultOf(test));
            if (out.back().passed())
                groups[subjectOf(test, !test.misses.empty())].push_back(out.size() - 1);
        }
    size_t done = 0;
    for (const auto& [subject, tests] : groups) {
        m_progress.report("rule tests", done, out.size());
        auto run = rewritten(*out[tests[0]].test, subject.explain);
        if (m_progress.cancelled())
            return cancelledFailure("rule tests");
        for (size_t index : tests) {
            if (!run)
                out[index].failures.push_back({"a graph", run.error().text()});
            else
                check(*run, out[index]);
        }
        done += tests.size();
    }
    for (RuleTestResult& result : out)
        if (!result.failures.empty() && result.test->given == RuleTest::Given::Graph)
            if (auto again = rewritten(*result.test, true)) {
                result.nearest = nearestOf(again->after.trace, result.test->rule);
                for (const TraceEvent& event : again->after.trace.events)
                    if (event.kind == TraceEvent::Kind::Refused &&
                        event.rule == result.test->rule && result.refused.size() < mostReasons)
                        result.refused.push_back(event.reason);
            }
    m_progress.report("rule tests", out.size(), out.size());
    return out;
}

} // namespace

Result<std::vector<RuleTestResult>>
runRuleTests(const RuleLibrary& library, const RuleTestOptions& options, Progress& progress) {
    return Runner(library, options, progress).run();
}

std::vector<std::string> rulesWithoutTests(const RuleLibrary& library,
                                           const RuleTestOptions& options) {
    std::vector<std::string> out;
    for (const Rule& rule : library.loaded.rules.rules) {
        bool tested = false;
        for (const RuleTest& test : library.loaded.tests)
            tested = tested || test.rule == rule.name;
        if (!tested && chosen(options, rule.name, rule.file))
            out.push_back(fmt::format("{}:{}: rule `{}`", rule.file, rule.line, rule.name));
    }
    return out;
}

} // namespace fuselage::app
