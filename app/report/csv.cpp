// SPDX-License-Identifier: Apache-2.0
#include "app/report/csv.h"

#include <fmt/format.h>

namespace fuselage::app {

namespace {

std::string csvCell(const std::string& text) {
    // A table program would compute what begins like a formula.
    const bool formula = !text.empty() && std::string("=+-@\t").find(text[0]) != std::string::npos;
    if (!formula && text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string out = formula ? "\"'" : "\"";
    for (char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

template <typename... Cells> std::string csvRow(const Cells&... cells) {
    std::string out;
    bool isFirst = true; // the first cell may be empty
    auto add = [&](const auto& value) {
        out += isFirst ? "" : ",";
        isFirst = false;
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
            out += fmt::format("{}", value);
        else
            out += csvCell(value);
    };
    (add(cells), ...);
    return out + "\r\n";
}

std::string listed(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names)
        out += (out.empty() ? "" : ";") + name;
    return out;
}

std::string micros(const std::optional<double>& seconds) {
    return seconds ? fmt::format("{:.9g}", *seconds * 1e6) : "";
}

std::string countedCell(const std::optional<MeasuredTraffic>& traffic,
                        std::optional<int64_t> MeasuredTraffic::*bytes) {
    return traffic && (*traffic).*bytes ? std::to_string(*((*traffic).*bytes)) : "";
}

template <typename Print> std::string eachReport(const RunReport& run, Print print) {
    std::string out;
    for (const ModelRun& model : run.models)
        if (model.report)
            out += print(model.id, *model.report);
    return out;
}

std::string kernelRows(const std::string& id, const char* side,
                       const std::vector<KernelReport>& kernels) {
    std::string out;
    for (const KernelReport& k : kernels)
        out += csvRow(id, side, k.name, k.kind, k.rule, k.tactic, listed(k.sources),
                      k.traffic.logicalRead, k.traffic.logicalWritten, k.traffic.l2, k.traffic.dram,
                      k.flops, micros(k.predictedSeconds), micros(k.measuredSeconds),
                      countedCell(k.measuredTraffic, &MeasuredTraffic::dramRead),
                      countedCell(k.measuredTraffic, &MeasuredTraffic::dramWritten),
                      countedCell(k.measuredTraffic, &MeasuredTraffic::l2));
    return out;
}

} // namespace

std::string renderKernelsCsv(const RunReport& run) {
    return csvRow("model", "side", "kernel", "program", "rule", "tactic", "nodes", "logical_read",
                  "logical_written", "l2_predicted", "dram_predicted", "flops", "predicted_us",
                  "median_us", "dram_read_measured", "dram_written_measured", "l2_measured") +
           eachReport(run, [](const std::string& id, const Report& report) {
               return kernelRows(id, "before", report.before.kernels) +
                      kernelRows(id, "after", report.after.kernels);
           });
}

std::string renderMatchesCsv(const RunReport& run) {
    return csvRow("model", "fused_node", "rule", "file", "line", "nodes", "bytes_before",
                  "bytes_after", "launches_before", "launches_after", "before_us", "after_us",
                  "predicted_before_us", "predicted_after_us") +
           eachReport(run, [](const std::string& id, const Report& report) {
               std::string out;
               for (const MatchReport& m : report.matches)
                   out += csvRow(id, m.fusedNode, m.rule, m.file, m.line, listed(m.nodes),
                                 m.bytesBefore, m.bytesAfter, m.launchesBefore, m.launchesAfter,
                                 micros(m.measuredBefore), micros(m.measuredAfter),
                                 micros(m.secondsBefore), micros(m.secondsAfter));
               return out;
           });
}

std::string renderGatesCsv(const RunReport& run) {
    std::string out = csvRow("model", "gate", "metric", "baseline", "now", "limit", "verdict",
                             "note", "baseline_value", "now_value");
    const auto number = [](const std::optional<double>& value) {
        return value ? fmt::format("{:.9g}", *value) : std::string();
    };
    for (const GateRow& gate : run.gates)
        out += csvRow(gate.model, gate.id, gate.metric, gate.base, gate.now, gate.limit,
                      std::string(nameOf(gate.verdict)), gate.note, number(gate.baseValue),
                      number(gate.nowValue));
    return out;
}

} // namespace fuselage::app
