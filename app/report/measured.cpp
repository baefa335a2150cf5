// SPDX-License-Identifier: Apache-2.0
#include "app/report/measured.h"

#include "app/report/json_read.h"

#include <fmt/format.h>

namespace fuselage::app {

namespace {

void addKernels(std::vector<KernelReport>& kernels, const std::vector<KernelReport>& measured) {
    std::map<std::string_view, const KernelReport*> byName;
    for (const KernelReport& kernel : measured)
        byName.emplace(kernel.name, &kernel);
    double total = 0;
    for (KernelReport& kernel : kernels) {
        auto found = byName.find(kernel.name);
        if (found != byName.end() && found->second->measuredSeconds) {
            const KernelReport& from = *found->second;
            kernel.measuredSeconds = from.measuredSeconds;
            kernel.tactic = from.tactic;
            kernel.isFallback = from.isFallback;
            kernel.hidden = from.hidden;
            kernel.facts = from.facts;
            kernel.inSitu = from.inSitu;
            kernel.cold = from.cold;
            kernel.warm = from.warm;
            kernel.measuredTraffic = from.measuredTraffic;
        }
        total += kernel.measuredSeconds.value_or(kernel.predictedSeconds);
    }
    for (KernelReport& kernel : kernels)
        kernel.share =
            total > 0 ? kernel.measuredSeconds.value_or(kernel.predictedSeconds) / total : 0;
}

void addMatches(std::vector<MatchReport>& matches, const std::vector<MatchReport>& measured) {
    std::map<std::string_view, const MatchReport*> byName;
    for (const MatchReport& match : measured)
        byName.emplace(match.fusedNode, &match);
    for (MatchReport& match : matches)
        if (auto found = byName.find(match.fusedNode); found != byName.end()) {
            match.measuredBefore = found->second->measuredBefore;
            match.measuredAfter = found->second->measuredAfter;
            match.measuredRatio = found->second->measuredRatio;
            match.unjudged = found->second->unjudged;
            match.error = found->second->error;
        }
}

} // namespace

Result<void> addMeasurements(Report& report, std::string_view json) {
    auto measured = readJson(json);
    if (!measured)
        return failure("measure.json", "the results of the measurement cannot be read",
                       measured.error().text(), "measure again");
    if (!measured->before.measured || !measured->after.measured)
        return failure("measure.none", "the measurement holds no times", {},
                       "choose a backend that runs here");
    report.before.measured = measured->before.measured;
    report.after.measured = measured->after.measured;
    report.before.measuredTraffic = measured->before.measuredTraffic;
    report.after.measuredTraffic = measured->after.measuredTraffic;
    report.ratio = measured->ratio;
    report.timingNotes = measured->timingNotes;
    report.agreement = std::move(measured->agreement);
    addKernels(report.after.kernels, measured->after.kernels);
    addKernels(report.before.kernels, measured->before.kernels);
    addMatches(report.matches, measured->matches);
    report.machine = std::move(measured->machine); // names above point into what stays
    return {};
}

Result<void> addNodeErrors(Report& report, std::string_view json) {
    auto read = readJson(json);
    if (!read)
        return failure("measure.json", "the errors of nodes cannot be read", read.error().text(),
                       "compute them again");
    if (read->nodeErrors.empty())
        return failure("errors.none", "no node of the model can be compared with float", {},
                       "give a model with float results");
    report.nodeErrors = std::move(read->nodeErrors);
    return {};
}

std::string busyText(const MachineReport& machine) {
    constexpr double idle = 0.15; // of a core: what any system does by itself
    if (machine.othersBusy.value_or(0) < idle)
        return {};
    return fmt::format("other processes used {:.1f} of {} core{} meanwhile: times are longer and "
                       "less certain than on an idle machine",
                       *machine.othersBusy, machine.cores, machine.cores == 1 ? "" : "s");
}

} // namespace fuselage::app
