// SPDX-License-Identifier: Apache-2.0
#include "app/report/github.h"

#include "app/report/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fuselage::app {

namespace {

using Verdict = GateRow::Verdict;

struct Annotation {
    const char* command; ///< "error", "warning", "notice"
    std::string file, title, message;
};

/// Names of models are hostile: nothing in them ends a value or starts a command.
std::string escapedForCommand(const std::string& text, bool property) {
    std::string out;
    for (char c : text)
        if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        else
            out += c;
    return out;
}

const char* commandOf(Verdict verdict) {
    switch (verdict) {
    case Verdict::Fail:
        return "error";
    case Verdict::Warn:
        return "warning";
    case Verdict::Ambiguous:
        return "notice";
    case Verdict::Pass:
    case Verdict::Skipped:
        break;
    }
    return nullptr;
}

std::vector<Annotation> annotationsOf(const RunReport& run) {
    std::vector<Annotation> out;
    for (const std::string& shard : missingShards(run))
        out.push_back({"error", "", shard, "its folder is missing"});
    for (const ModelRun& model : run.models) {
        if (model.state != ModelRun::State::Done)
            out.push_back({"error", model.file,
                           fmt::format("{}: {}", model.id, nameOf(model.state)),
                           model.message + (model.code.empty() ? "" : " [" + model.code + "]")});
        if (model.report && !model.report->agreement.empty() && !model.report->verified())
            out.push_back({"error", model.file, model.id + ": verification",
                           "the fused model computes something else"});
        for (const GateRow& gate : run.gates)
            if (const char* command = commandOf(gate.verdict);
                command != nullptr && gate.model == model.id)
                out.push_back(
                    {command, model.file, fmt::format("{}: gate {}", model.id, gate.id),
                     fmt::format("{} was {}, is {}, limit {}. {}", gate.metric,
                                 gate.base.empty() ? "unknown" : gate.base,
                                 gate.now.empty() ? "unknown" : gate.now, gate.limit, gate.note)});
    }
    for (const GateRow* gate : rowsOfNoModel(run))
        if (const char* command = commandOf(gate->verdict))
            out.push_back(
                {command, "",
                 fmt::format("{}gate {}", gate->model.empty() ? "" : gate->model + ": ", gate->id),
                 gateText(*gate)});
    // "error" < "notice" < "warning": only the first place matters.
    std::stable_partition(out.begin(), out.end(), [](const Annotation& annotation) {
        return std::string_view(annotation.command) == "error";
    });
    return out;
}

} // namespace

std::string renderAnnotations(const RunReport& run) {
    std::vector<Annotation> all = annotationsOf(run);
    const size_t count = all.size();
    if (count > annotationLimit) {
        all.resize(annotationLimit - 1);
        all.push_back({"notice", "", "fuselage",
                       fmt::format("{} more are in the reports", count - all.size())});
    }
    std::string out;
    for (const Annotation& one : all) {
        out += fmt::format("::{} ", one.command);
        if (!one.file.empty())
            out += "file=" + escapedForCommand(one.file, true) + ",";
        out += "title=" + escapedForCommand(one.title, true) +
               "::" + escapedForCommand(one.message, false) + "\n";
    }
    return out;
}

} // namespace fuselage::app
