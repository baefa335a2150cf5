// SPDX-License-Identifier: Apache-2.0
#include "app/report/device_text.h"

#include "app/report/counted.h"
#include "app/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fuselage::app {

namespace {

using Align = TextTable::Align;

std::string medianText(const std::optional<TimingSummary>& timing) {
    return timing && timing->samples > 0 ? secondsText(timing->median) : "-";
}

std::string intervalText(const std::optional<TimingSummary>& timing) {
    return timing && timing->samples > 0
               ? fmt::format("{} .. {}", secondsText(timing->low), secondsText(timing->high))
               : "not measured";
}

std::string shareText(const KernelReport& kernel) {
    const double seconds = kernel.measuredSeconds.value_or(0);
    return seconds > 0 ? fmt::format("{:.0f} %", kernel.rooflineSeconds / seconds * 100) : "-";
}

/// Bytes as predicted and as counted; empty where nothing was counted.
std::string countedKernels(const std::vector<const KernelReport*>& kernels) {
    const bool any = std::any_of(kernels.begin(), kernels.end(), [](const KernelReport* kernel) {
        return kernel->measuredTraffic.has_value();
    });
    if (!any)
        return {};
    TextTable table({Align::Right, Align::Right, Align::Right, Align::Right, Align::Right,
                     Align::Right, Align::Left});
    table.row({"DRAM read", "DRAM written", "DRAM", "predicted", "L2", "predicted", "tactic"});
    for (const KernelReport* kernel : kernels) {
        const MeasuredTraffic counted = kernel->measuredTraffic.value_or(MeasuredTraffic());
        table.row({countedText(counted.dramRead), countedText(counted.dramWritten),
                   countedText(counted.dram()), bytesText(kernel->traffic.dram),
                   countedText(counted.l2), bytesText(kernel->traffic.l2), kernel->tactic});
    }
    return "their bytes as the device counted them\n" + table.text();
}

std::string registersText(const KernelFacts& facts) {
    return facts.registers > 0 ? std::to_string(facts.registers) : "-";
}

/// Kernels that never ran: what the compiler says of them.
std::string compiledKernels(const std::vector<const KernelReport*>& kernels) {
    TextTable table(
        {Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left});
    table.row({"registers", "spilled", "shared", "blocks", "occupancy", "tactic"});
    for (const KernelReport* kernel : kernels) {
        if (!kernel->facts)
            continue;
        const KernelFacts& facts = *kernel->facts;
        table.row({registersText(facts), bytesText(facts.spilledBytes),
                   bytesText(facts.sharedBytes),
                   facts.residentBlocks > 0 ? std::to_string(facts.residentBlocks) : "-",
                   facts.residentBlocks > 0 ? fmt::format("{:.0f} %", facts.occupancy * 100) : "-",
                   kernel->tactic});
    }
    return "the same kernels compiled, not measured (blocks: of a multiprocessor at a time)\n" +
           table.text();
}

/// What a tactic did, not what it needs.
bool condemns(const Reason& reason) {
    for (const char* code :
         {"wrong-result", "first-call", "device.lost", "device.hung", "device.crashed"})
        if (reason.code == code)
            return true;
    return false;
}

} // namespace

std::string renderDeviceKernels(const std::vector<const KernelReport*>& kernels,
                                const std::string& timing) {
    const bool any = std::any_of(kernels.begin(), kernels.end(), [](const KernelReport* kernel) {
        return kernel->facts.has_value();
    });
    if (!any)
        return {};
    if (std::all_of(kernels.begin(), kernels.end(), [](const KernelReport* kernel) {
            return !kernel->facts || kernel->facts->choice == "compiled";
        }))
        return compiledKernels(kernels);
    TextTable table({Align::Right, Align::Left, Align::Right, Align::Right, Align::Right,
                     Align::Right, Align::Right, Align::Left, Align::Left});
    table.row({"in situ", "95 % interval", "cold", "warm", "roofline", "registers", "spilled",
               "chosen", "tactic"});
    for (const KernelReport* kernel : kernels) {
        if (!kernel->facts)
            continue;
        const KernelFacts& facts = *kernel->facts;
        table.row({medianText(kernel->inSitu), intervalText(kernel->inSitu),
                   medianText(kernel->cold), medianText(kernel->warm), shareText(*kernel),
                   registersText(facts), bytesText(facts.spilledBytes), facts.choice,
                   kernel->tactic});
    }
    const std::string how = timing.empty() ? "" : "  " + timing + "\n";
    return "the same kernels on the device\n" + how + table.text() + countedKernels(kernels);
}

std::string renderCondemned(const Report& report) {
    std::map<std::string, std::vector<std::string>> kernels; // by what is said of the tactic
    for (const auto* side : {&report.after.kernels, &report.before.kernels})
        for (const KernelReport& kernel : *side)
            for (const Reason& reason : kernel.fallbacks)
                if (condemns(reason))
                    kernels[reason.text()].push_back(kernel.name);
    if (kernels.empty())
        return {};
    std::string out = "tactics that are not used for what they did on the device\n";
    for (const auto& [text, names] : kernels) {
        out += fmt::format("  {}\n    for {}", text, names.front());
        out += names.size() > 1 ? fmt::format(" and {} more\n", names.size() - 1) : "\n";
    }
    return out;
}

} // namespace fuselage::app
