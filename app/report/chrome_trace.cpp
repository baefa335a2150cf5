// SPDX-License-Identifier: Apache-2.0
#include "app/report/chrome_trace.h"

#include "app/report/json_archive_internal.h"
#include "app/report/json_internal.h"

namespace fuselage::app {

namespace {

void nameLane(json& events, const char* what, size_t process, int thread, const std::string& name) {
    events.push_back({{"name", what},
                      {"ph", "M"},
                      {"pid", process},
                      {"tid", thread},
                      {"args", {{"name", name}}}});
}

void addLane(json& events, size_t process, int thread, const char* side,
             const std::vector<KernelReport>& kernels) {
    const bool measured = !kernels.empty() && kernels[0].measuredSeconds.has_value();
    nameLane(events, "thread_name", process, thread,
             std::string(side) + (measured ? ", measured" : ", predicted"));
    double at = 0;
    for (const KernelReport& kernel : kernels) {
        const double micros = kernel.measuredSeconds.value_or(kernel.predictedSeconds) * 1e6;
        events.push_back({{"name", kernel.rule.empty() ? kernel.name : kernel.rule},
                          {"cat", kernel.kind},
                          {"ph", "X"},
                          {"pid", process},
                          {"tid", thread},
                          {"ts", rounded(at)},
                          {"dur", rounded(micros)},
                          {"args",
                           {{"kernel", kernel.name},
                            {"node", kernel.node},
                            {"nodes", kernel.sources},
                            {"tactic", kernel.tactic},
                            {"logical_bytes", kernel.traffic.logical()},
                            {"flops", kernel.flops}}}});
        at += micros;
    }
}

} // namespace

std::string renderChromeTrace(const RunReport& run) {
    json events = json::array();
    for (size_t i = 0; i < run.models.size(); ++i) {
        if (!run.models[i].report)
            continue;
        const Report& report = *run.models[i].report;
        nameLane(events, "process_name", i + 1, 0, run.models[i].id);
        addLane(events, i + 1, 1, "before", report.before.kernels);
        addLane(events, i + 1, 2, "after", report.after.kernels);
    }
    return fileText({{"displayTimeUnit", "ms"}, {"traceEvents", events}});
}

} // namespace fuselage::app
