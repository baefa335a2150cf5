// SPDX-License-Identifier: Apache-2.0
#include "app/report/sarif.h"

#include "app/report/json_internal.h"
#include "app/report/run_text.h"
#include "core/support/hash.h"

#include <fmt/format.h>

#include <map>

namespace fuselage::app {

namespace {

using nlohmann::json;

struct Finding {
    std::string code;  ///< rule id of SARIF
    const char* level; ///< "error", "warning", "note"
    std::string message;
    std::string file; ///< relative URI
    uint32_t line = 0;
    std::string rule;
    std::vector<std::string> nodes;
    std::string model;
};

/// A node's place without its numbers: those change when a model is exported again.
std::string withoutNumbers(const std::string& name) {
    std::string out;
    for (char c : name)
        if (c < '0' || c > '9')
            out += c;
        else if (out.empty() || out.back() != '#')
            out += '#';
    return out;
}

/// A path as a URI: what is not plain is written as %XX.
std::string uri(const std::string& path) {
    std::string out;
    for (char c : path) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') ||
                           std::string_view("-._~/").find(c) != std::string_view::npos;
        out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

void addReport(const ModelRun& model, std::vector<Finding>& out) {
    const Report& report = *model.report;
    for (const NearMissReport& miss : report.nearMisses)
        out.push_back({miss.reason.code,
                       "note",
                       fmt::format("`{}` matched {} of {} nodes and ended at `{}`: {}", miss.rule,
                                   miss.step, miss.steps, miss.node, miss.reason.message),
                       miss.file,
                       miss.line,
                       miss.rule,
                       {miss.anchor, miss.node},
                       model.id});
    std::map<std::string, const RuleReport*> rules;
    for (const RuleReport& rule : report.rules)
        rules[rule.rule] = &rule;
    for (const StepReport& step : report.steps)
        if (step.kind == StepReport::Kind::Refused)
            out.push_back({step.reason.code, "note",
                           fmt::format("`{}` was refused: {}", step.rule, step.reason.message),
                           step.file, step.line, step.rule, step.nodes, model.id});
    for (const SplitReport& split : report.splits) {
        if (!split.isCut)
            continue;
        auto rule = rules.find(split.rule);
        const bool known = rule != rules.end();
        out.push_back({split.reason.code,
                       "note",
                       fmt::format("`{}` takes {} kernels: {}", split.node, split.parts,
                                   split.reason.message),
                       known ? rule->second->file : model.file,
                       known ? rule->second->line : 0,
                       split.rule,
                       {split.node},
                       model.id});
    }
    if (!report.agreement.empty() && !report.verified())
        out.push_back({"verify",
                       "error",
                       "the fused model computes something else",
                       model.file,
                       0,
                       "",
                       {},
                       model.id});
}

/// What fails the run comes first, so that the limit never cuts it off.
std::vector<Finding> findingsOf(const RunReport& run) {
    std::vector<Finding> out;
    for (const GateRow& gate : run.gates) {
        if (gate.verdict != GateRow::Verdict::Fail && gate.verdict != GateRow::Verdict::Warn)
            continue;
        std::string file = gate.model.empty() ? "results.json" : gate.model;
        for (const ModelRun& model : run.models)
            if (model.id == gate.model)
                file = model.file;
        out.push_back({"gate." + gate.id,
                       gate.verdict == GateRow::Verdict::Fail ? "error" : "warning",
                       (gate.model.empty() ? gate.id : gate.model) + ": " + gateText(gate),
                       file,
                       0,
                       "",
                       {},
                       gate.model});
    }
    for (const ModelRun& model : run.models)
        if (model.state != ModelRun::State::Done)
            out.push_back(
                {model.code.empty() ? std::string("run.") + nameOf(model.state) : model.code,
                 "error",
                 fmt::format("{}: {}", nameOf(model.state), model.message),
                 model.file,
                 0,
                 "",
                 {},
                 model.id});
    for (const ModelRun& model : run.models)
        if (model.report)
            addReport(model, out);
    return out;
}

json resultJson(const Finding& finding, std::map<std::string, int>& seen) {
    Hasher hash;
    hash.text(finding.code).text(finding.rule).text(finding.model);
    for (const std::string& node : finding.nodes)
        hash.text(withoutNumbers(node));
    // Equal places are told apart by their order.
    const std::string print = hash.hex();
    json nodes = json::array();
    for (const std::string& node : finding.nodes)
        nodes.push_back({{"name", node}, {"fullyQualifiedName", finding.model + "/" + node}});
    json physical{{"artifactLocation", {{"uri", uri(finding.file)}}}};
    physical["region"] = {{"startLine", std::max<uint32_t>(finding.line, 1)}};
    json location{{"physicalLocation", physical}};
    if (!nodes.empty())
        location["logicalLocations"] = nodes;
    return {{"ruleId", finding.code},
            {"level", finding.level},
            {"message", {{"text", finding.message}}},
            {"locations", json::array({location})},
            {"partialFingerprints", {{"fuselage/1", fmt::format("{}:{}", print, ++seen[print])}}}};
}

} // namespace

std::string renderSarif(const RunReport& run, size_t limit) {
    std::vector<Finding> findings = findingsOf(run);
    const size_t all = findings.size();
    if (all > limit) {
        findings.resize(limit > 0 ? limit - 1 : 0);
        const std::string file = run.models.empty() ? "results.json" : run.models[0].file;
        findings.push_back(
            {"report.limit",
             "note",
             fmt::format("{} more results are in results.json", all - findings.size()),
             file,
             0,
             "",
             {},
             ""});
    }
    std::map<std::string, int> seen;
    std::map<std::string, bool> codes;
    json results = json::array(), rules = json::array();
    for (const Finding& finding : findings) {
        results.push_back(resultJson(finding, seen));
        if (codes.emplace(finding.code, true).second)
            rules.push_back({{"id", finding.code}});
    }
    json driver{{"name", "fuselage"}, {"rules", rules}};
    if (!run.version.empty())
        driver["version"] = run.version;
    return fileText(
        {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
         {"version", "2.1.0"},
         {"runs", json::array({{{"tool", {{"driver", driver}}}, {"results", results}}})}});
}

} // namespace fuselage::app
