// SPDX-License-Identifier: Apache-2.0
// The profile of the machine that this runs on: the file that `calibrate` wrote, else a built-in
// one for processors of its kind. Nothing is measured here, so that equal machines decide equally.
#include "core/cost/profile_internal.h"
#include "core/support/number_text.h"
#include "core/support/processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

namespace fuselage {

namespace {

/// More of them read and write no faster.
constexpr double coresThatFillMemory = 8;

std::string firstLine(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// "32768K" or "32M" as bytes; 0 when it is neither.
double cacheBytes(const std::string& text) {
    double number = 0;
    size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9')
        number = number * 10 + (text[digits++] - '0');
    const char unit = digits < text.size() ? text[digits] : ' ';
    return number * (unit == 'K' ? 1024.0 : unit == 'M' ? 1024.0 * 1024.0 : 1.0);
}

struct Caches {
    double first = 0, second = 0, last = 0;
};

Caches queryCaches() {
    Caches out;
    const std::string base = "/sys/devices/system/cpu/cpu0/cache/index";
    for (int i = 0; i < 8; ++i) {
        const std::string folder = base + std::to_string(i) + "/";
        const std::string type = firstLine(folder + "type");
        if (type.empty())
            break;
        if (type == "Instruction")
            continue;
        const double bytes = cacheBytes(firstLine(folder + "size"));
        const std::string level = firstLine(folder + "level");
        if (level == "1")
            out.first = bytes;
        if (level == "2")
            out.second = bytes;
        out.last = std::max(out.last, bytes);
    }
    return out;
}

/// The built-in profile of one core that fits this processor best.
const char* coreProfile() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return "cpu_avx512";
    if (__builtin_cpu_supports("avx2"))
        return "cpu_avx2";
#endif
    return "cpu_generic";
}

std::string processorTitle() {
    const std::string model = cpuInfo("model name");
    return model.empty() ? "this machine" : model;
}

/// Dot products of 8-bit integers, where the processor has them and no figure says otherwise.
void queryIntegers(DeviceProfile& profile) {
    struct Extension {
        std::string_view flag;
        double gain; ///< measured: convolutions of 64 channels on a Xeon that has both
    };
    constexpr Extension extensions[] = {{"amx_int8", 6}, {"avx512_vnni", 3}, {"avx_vnni", 3}};
    if (auto known = profile.sources.find("integer_gain");
        known != profile.sources.end() && !known->second.starts_with("start value") &&
        !known->second.starts_with("estimated"))
        return;
    const std::string flags = " " + cpuInfo("flags") + " ";
    for (const Extension& extension : extensions)
        if (flags.find(fmt::format(" {} ", extension.flag)) != std::string::npos) {
            profile.integerGain = extension.gain;
            profile.sources["integer_gain"] = fmt::format("queried: {}", extension.flag);
            return;
        }
}

/// As many cores as there are. A function of the processor alone: nothing is measured.
DeviceProfile defaultProfile() {
    DeviceProfile out = *deviceProfile(coreProfile());
    out.origin = fmt::format("built-in {}, not calibrated for this machine", out.name);
    out.name = "cpu";
    out.title = processorTitle();
    out = withCores(std::move(out), std::max(1U, std::thread::hardware_concurrency()));
    out.sources["units"] = "queried";
    queryIntegers(out);
    const double highest = // kHz; a virtual machine is told nothing
        numberIn(firstLine("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
    if (highest > 0) {
        out.clock = highest * 1e3;
        out.sources["clock"] = "queried";
    }
    for (double* peak : {&out.fp32Flops, &out.fp16MatrixFlops, &out.tf32MatrixFlops})
        *peak = out.units * out.clock * out.lanesPerUnit * 2;
    for (const char* name : {"dram_bandwidth", "l2_bandwidth"})
        out.sources[name] += ", times the cores";
    const Caches caches = queryCaches();
    if (caches.last > 0) {
        out.l2Bytes = caches.last;
        out.sources["l2_bytes"] = "queried: the last level";
    }
    if (caches.second > 0) {
        out.coreBytes = caches.second;
        out.sources["core_bytes"] = "queried: second level";
    }
    if (caches.first > 0) {
        out.sharedBytesPerUnit = caches.first;
        out.sources["shared_bytes_per_unit"] = "queried: first level";
    }
    return out;
}

/// The calibrated profile, or why the default one serves: in its origin.
DeviceProfile query() {
    const std::string path = calibratedProfilePath();
    std::error_code error;
    if (path.empty() || !std::filesystem::exists(path, error))
        return defaultProfile();
    auto read = deviceProfile(path);
    if (read && read->kind == DeviceKind::Cpu && read->title == processorTitle()) {
        queryIntegers(*read);
        return *read;
    }
    DeviceProfile out = defaultProfile();
    out.origin += fmt::format("; {} does not count: {}", path,
                              !read ? read.error().text() : "it is of `" + read->title + "`");
    return out;
}

} // namespace

std::string calibratedProfilePath() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    };
    const std::string named = variable("FUSELAGE_CPU_PROFILE");
    if (!named.empty())
        return named == "none" ? "" : std::filesystem::absolute(named).string();
    std::string folder = variable("XDG_CONFIG_HOME");
    if (folder.empty() && !variable("HOME").empty())
        folder = variable("HOME") + "/.config";
    return folder.empty() ? "" : folder + "/fuselage/cpu.toml";
}

DeviceProfile withCores(DeviceProfile profile, double cores) {
    if (profile.kind != DeviceKind::Cpu || cores <= 0)
        return profile;
    const double more = cores / profile.units;
    const double sharing =
        std::min(cores, coresThatFillMemory) / std::min(profile.units, coresThatFillMemory);
    profile.units = cores;
    profile.dramBandwidth *= sharing;
    for (double* rate : {&profile.l2Bandwidth, &profile.waitBandwidth, &profile.fp32Flops,
                         &profile.fp16MatrixFlops, &profile.tf32MatrixFlops})
        *rate *= more;
    return profile;
}

const DeviceProfile& thisMachine() {
    static const DeviceProfile profile = query();
    return profile;
}

} // namespace fuselage
