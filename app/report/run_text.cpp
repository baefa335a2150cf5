// SPDX-License-Identifier: Apache-2.0
#include "app/report/run_text.h"

#include "app/report/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace fuselage::app {

namespace {

using Verdict = GateRow::Verdict;

/// "skipped time: e2e_us of 3 models (not measured here)": a gate that could not fail is not one
/// that held.
std::vector<std::string> skippedLines(const std::vector<GateRow>& gates) {
    std::map<std::array<std::string, 3>, std::vector<std::string>> models;
    for (const GateRow& gate : gates)
        if (gate.verdict == Verdict::Skipped)
            models[{gate.id, gate.metric, gate.note}].push_back(gate.model);
    std::vector<std::string> out;
    out.reserve(models.size());
    for (const auto& [row, names] : models)
        out.push_back(fmt::format(
            "skipped {}: {} of {} ({})", row[0], row[1],
            names.size() == 1 ? names[0] : fmt::format("{} models", names.size()), row[2]));
    return out;
}

} // namespace

std::string gateText(const GateRow& gate) {
    return fmt::format("{}{} is {}, limit {}{}", gate.metric,
                       gate.base.empty() ? "" : " was " + gate.base + ",",
                       gate.now.empty() ? "unknown" : gate.now, gate.limit,
                       gate.note.empty() ? "" : " (" + gate.note + ")");
}

std::vector<const GateRow*> rowsOfNoModel(const RunReport& run) {
    std::vector<const GateRow*> out;
    for (const GateRow& gate : run.gates)
        if (std::none_of(run.models.begin(), run.models.end(),
                         [&](const ModelRun& model) { return model.id == gate.model; }))
            out.push_back(&gate);
    return out;
}

std::string renderVerdict(const RunReport& run) {
    std::string out = verdictLine(run) + "\n";
    const auto addLine = [&](const std::string& text) { // names in it are no lines of their own
        out += "  " + visible(text) + "\n";
    };
    for (const GateRow& gate : run.gates)
        if (gate.verdict != Verdict::Pass && gate.verdict != Verdict::Skipped)
            addLine(fmt::format("{} {}: {}", nameOf(gate.verdict),
                                gate.model.empty() ? gate.id : gate.model, gateText(gate)));
    for (const std::string& line : skippedLines(run.gates))
        addLine(line);
    for (const ModelRun& model : run.models)
        if (model.state != ModelRun::State::Done)
            addLine(fmt::format("{} {}: {}", nameOf(model.state), model.id, model.message));
    return out;
}

} // namespace fuselage::app
