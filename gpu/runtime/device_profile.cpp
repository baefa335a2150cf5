// SPDX-License-Identifier: Apache-2.0
// What the driver says of a device beside a built-in profile: bandwidths and the numbers of the
// time model come from the profile, what can be asked is asked.
#include "core/support/text.h"
#include "gpu/emit/kernel_text.h"
#include "gpu/runtime/device.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

namespace fuselage::gpu {

namespace {

/// Share of the pins' bandwidth that a copy reaches, where the profile is of another device.
constexpr double copyShare = 0.88;

/// `text` begins with `words` and goes on with another word, if at all: "NVIDIA L40" is no
/// "NVIDIA L4".
bool beginsWithWords(const std::string& text, const std::string& words) {
    return text.starts_with(words) &&
           (text.size() == words.size() ||
            std::isalnum(static_cast<unsigned char>(text[words.size()])) == 0);
}

/// "NVIDIA H100" of "NVIDIA H100 80GB HBM3": drivers add the memory to some names.
std::string withoutMemory(std::string name) {
    for (size_t space = name.rfind(' '); space != std::string::npos; space = name.rfind(' ')) {
        const std::string last = name.substr(space + 1);
        const bool size = last.size() > 2 && last.ends_with("GB") &&
                          std::isdigit(static_cast<unsigned char>(last[0])) != 0;
        if (!size && !last.starts_with("HBM"))
            break;
        name.resize(space);
    }
    return name;
}

/// "NVIDIA H200" matches "NVIDIA H200 SXM": the profile's title begins with the name, or the
/// other way around.
bool sameDevice(const DeviceProfile& profile, const DeviceFacts& facts) {
    const std::string name = withoutMemory(facts.name);
    return beginsWithWords(profile.title, name) || beginsWithWords(name, profile.title);
}

/// How well a profile stands for the device: its own, one of its architecture, the nearest one.
int rankOf(const DeviceProfile& profile, const DeviceFacts& facts) {
    constexpr int itself = 2000, sameArch = 1000;
    if (sameDevice(profile, facts))
        return itself;
    const int distance = std::abs(static_cast<int>(capabilityOf(profile.arch)) -
                                  static_cast<int>(capabilityOf(facts.arch)));
    return distance == 0 ? sameArch : std::max(0, sameArch - 1 - distance);
}

/// The profile of the device itself, of one of its architecture, or of the nearest one.
std::optional<DeviceProfile> nearest(const DeviceFacts& facts) {
    std::optional<DeviceProfile> best;
    int bestRank = -1;
    for (const std::string& name : deviceProfileNames()) {
        auto profile = deviceProfile(name);
        if (!profile || profile->kind != DeviceKind::Gpu)
            continue;
        const int rank = rankOf(*profile, facts);
        if (rank > bestRank) {
            bestRank = rank;
            best = *profile;
        }
    }
    return best;
}

} // namespace

DeviceProfile profileOf(const DeviceFacts& facts) {
    DeviceProfile out = nearest(facts).value_or(DeviceProfile{});
    const bool itself = sameDevice(out, facts);
    const double oldRate = out.units * out.clock;
    auto queried = [&](double& field, const char* name, double value) {
        if (value <= 0)
            return;
        field = value;
        out.sources[name] = "queried";
    };
    queried(out.units, "units", facts.multiprocessors);
    queried(out.clock, "clock", facts.clockKilohertz * 1e3);
    queried(out.l2Bytes, "l2_bytes", static_cast<double>(facts.l2Bytes));
    queried(out.sharedBytesPerUnit, "shared_bytes_per_unit", facts.sharedBytesPerMultiprocessor);
    queried(out.registersPerUnit, "registers_per_unit", facts.registersPerMultiprocessor);
    queried(out.threadsPerUnit, "threads_per_unit", facts.threadsPerMultiprocessor);
    if (!itself) {
        // Two transfers a clock on every pin; arithmetic in proportion to units and clock.
        queried(out.dramBandwidth, "dram_bandwidth",
                copyShare * 2 * facts.memoryClockKilohertz * 1e3 * facts.memoryBusBits / 8);
        const double scale = oldRate > 0 ? out.units * out.clock / oldRate : 1;
        for (double* rate :
             {&out.fp32Flops, &out.fp16MatrixFlops, &out.tf32MatrixFlops, &out.l2Bandwidth})
            *rate *= scale;
        for (const char* field :
             {"fp32_flops", "fp16_matrix_flops", "tf32_matrix_flops", "l2_bandwidth"})
            out.sources[field] = "derived: " + out.name + " scaled by units and clock";
        out.name = "this-gpu";
    }
    out.title = facts.name;
    out.arch = facts.arch;
    out.kind = DeviceKind::Gpu;
    return out;
}

} // namespace fuselage::gpu
