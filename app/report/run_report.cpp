// SPDX-License-Identifier: Apache-2.0
#include "app/report/run_report.h"

#include "core/support/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace fuselage::app {

namespace {

constexpr std::array stateNames{"done", "failed", "crashed", "timeout", "memory", "not_run"};
constexpr std::array verdictNames{"pass", "warn", "fail", "ambiguous", "skipped"};

template <typename Names, typename Enum>
bool find(const Names& names, const std::string& name, Enum& out) {
    auto at = std::find(names.begin(), names.end(), name);
    if (at != names.end())
        out = static_cast<Enum>(at - names.begin());
    return at != names.end();
}

/// Worst first.
constexpr std::pair<const char*, int> reasonKinds[] = {
    {"internal", 10}, {"usage", 2}, {"input", 3},   {"verify", 4}, {"gate", 1},   {"time", 1},
    {"expect", 1},    {"lost", 1},  {"unknown", 1}, {"limit", 6},  {"device", 5}, {"partial", 7}};

std::string counted(size_t count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

} // namespace

const char* nameOf(ModelRun::State state) {
    return stateNames[static_cast<size_t>(state)];
}

bool fromName(const std::string& name, ModelRun::State& state) {
    return find(stateNames, name, state);
}

const char* nameOf(GateRow::Verdict verdict) {
    return verdictNames[static_cast<size_t>(verdict)];
}

bool fromName(const std::string& name, GateRow::Verdict& verdict) {
    return find(verdictNames, name, verdict);
}

std::string verdictLine(const RunReport& run) {
    auto modelIs = [](const ModelRun& model) { return model.state == ModelRun::State::Done; };
    auto wrong = [](const ModelRun& model) {
        return model.report && !model.report->agreement.empty() && !model.report->verified();
    };
    auto gateIs = [&](GateRow::Verdict verdict) {
        return static_cast<size_t>(
            std::count_if(run.gates.begin(), run.gates.end(),
                          [&](const GateRow& gate) { return gate.verdict == verdict; }));
    };
    const size_t done =
        static_cast<size_t>(std::count_if(run.models.begin(), run.models.end(), modelIs));
    const size_t differs =
        static_cast<size_t>(std::count_if(run.models.begin(), run.models.end(), wrong));
    std::string out = fmt::format("{}: {} of {} ran", run.exitCode == 0 ? "PASSED" : "FAILED", done,
                                  counted(run.models.size(), "model"));
    if (differs > 0)
        out += fmt::format(", {} computed wrongly", differs);
    for (const std::string& shard : missingShards(run))
        out += ", " + shard + " is missing";
    if (!run.gates.empty())
        out += ", " + counted(run.gates.size(), "gate");
    for (GateRow::Verdict verdict : {GateRow::Verdict::Fail, GateRow::Verdict::Warn,
                                     GateRow::Verdict::Ambiguous, GateRow::Verdict::Skipped})
        if (size_t count = gateIs(verdict); count > 0)
            out += fmt::format(", {} {}", count, nameOf(verdict));
    return out;
}

std::string modelId(const std::string& path) {
    std::string name = path.substr(path.find_last_of('/') + 1);
    if (name.ends_with(".onnx"))
        name.resize(name.size() - 5);
    for (char& c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
        c = plain ? c : '_';
    }
    // No hidden file and no parent folder.
    if (name.empty() || name.front() == '.' || name.front() == '-')
        name.insert(0, "_");
    return name;
}

bool isModelId(const std::string& id) {
    return modelId(id + ".onnx") == id;
}

int exitCodeOf(const std::vector<std::string>& reasons) {
    for (const auto& [kind, code] : reasonKinds)
        for (const std::string& reason : reasons)
            if (reason.starts_with(std::string(kind) + ":"))
                return code;
    return 0;
}

std::vector<std::string> missingShards(const RunReport& run) {
    constexpr std::string_view kind = "partial:", what = "shard ";
    std::vector<std::string> out;
    for (const std::string& reason : run.reasons)
        if (reason.starts_with(kind) && reason.substr(kind.size()).starts_with(what))
            out.push_back(reason.substr(kind.size()));
    return out;
}

bool isTimed(const std::string& reason) {
    return reason.starts_with("time:");
}

void settle(RunReport& run) {
    std::sort(run.reasons.begin(), run.reasons.end());
    run.reasons.erase(std::unique(run.reasons.begin(), run.reasons.end()), run.reasons.end());
    run.exitCode = exitCodeOf(run.reasons);
}

std::string structureHash(const Report& report) {
    const GraphReport& graph = report.before.graph;
    std::unordered_map<uint32_t, size_t> numbers; // of values, as they are first met
    Hasher hash;
    auto value = [&](uint32_t at) {
        if (at >= graph.values.size()) {
            hash.number<uint64_t>(0);
            return;
        }
        const bool first = !numbers.contains(at);
        const size_t number = numbers.try_emplace(at, numbers.size() + 1).first->second;
        hash.number<uint64_t>(number);
        if (first)
            hash.text(graph.values[at].type).text(graph.values[at].literal);
    };
    for (uint32_t input : graph.inputs)
        value(input);
    for (const GraphNodeReport& node : graph.nodes) {
        hash.text(node.op);
        for (const auto& [name, text] : node.attributes)
            hash.text(name).text(text);
        hash.number<uint64_t>(node.inputs.size());
        std::for_each(node.inputs.begin(), node.inputs.end(), value);
        std::for_each(node.outputs.begin(), node.outputs.end(), value);
    }
    for (uint32_t output : graph.outputs)
        value(output);
    return hash.hex();
}

RunReport runOf(const Report& report) {
    RunReport out;
    ModelRun& model = out.models.emplace_back();
    model.id = modelId(report.model.path);
    model.file = report.model.path;
    model.structure = structureHash(report);
    model.report = report;
    if (!report.agreement.empty() && !report.verified()) {
        out.reasons = {"verify:" + model.id};
        settle(out);
    }
    return out;
}

const char* verificationText(const Report& report) {
    return report.agreement.empty() ? "not run" : report.verified() ? "passed" : "failed";
}

} // namespace fuselage::app
