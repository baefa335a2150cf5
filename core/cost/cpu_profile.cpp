// SPDX-License-Identifier: Apache-2.0
// The profile of the machine that this runs on: what the system says about itself, the bandwidth of
// one short copy, and the clock where the system does not tell the highest one. Other figures that
// cannot be queried are marked as estimated.
#include "core/cost/profile_internal.h"
#include "core/support/processor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

namespace fuselage {

namespace {

/// Cost of handing one program to the threads of the backend.
constexpr double threadHandover = 2e-6;

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
    double first = 0, last = 0;
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
        if (firstLine(folder + "level") == "1")
            out.first = bytes;
        out.last = std::max(out.last, bytes);
    }
    return out;
}

/// Cycles a second of one core: exclusive ors that wait for each other, one a cycle; the fastest of
/// a few short chains, since others may use the core.
double measureClock() {
    constexpr int chains = 64, rounds = 1024, links = 64;
    double best = 0;
    for (int chain = 0; chain < chains; ++chain) {
        uint64_t x = 1;
        const uint64_t y = 2;
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < rounds; ++i)
            for (int link = 0; link < links; ++link) {
                x ^= y;
                asm volatile("" : "+r"(x)); // neither joined with the next one nor left out
            }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::max(best, double{rounds} * links / took.count());
    }
    return best;
}

double queryClock(std::string& source) {
    const std::string highest =
        firstLine("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"); // kHz
    source = "queried";
    if (!highest.empty() && std::atof(highest.c_str()) > 0)
        return std::atof(highest.c_str()) * 1e3;
    source = "measured: a chain at start-up"; // a virtual machine is told the lowest clock
    return measureClock();
}

struct Lanes {
    double count = 4;
    std::string arch = "scalar";
};

Lanes queryLanes() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return {16, "x86-64 avx512"};
    if (__builtin_cpu_supports("avx2"))
        return {8, "x86-64 avx2"};
    return {4, "x86-64"};
#elif defined(__aarch64__)
    return {4, "aarch64"};
#else
    return {};
#endif
}

/// Bytes a second read and written by a copy that no cache holds; the best of a few short ones.
double measureCopy(double cacheSize, size_t threads) {
    const auto wanted = static_cast<size_t>(std::clamp(2 * cacheSize, 32e6, 128e6));
    const size_t perThread = wanted / threads;
    std::unique_ptr<char[]> from(new char[perThread * threads]), to(new char[perThread * threads]);
    auto copyAll = [&](auto&& job) {
        std::vector<std::thread> workers;
        for (size_t i = 0; i < threads; ++i)
            workers.emplace_back(job, i * perThread);
        for (std::thread& worker : workers)
            worker.join();
    };
    copyAll([&](size_t at) {
        std::memset(from.get() + at, 1, perThread);
        std::memset(to.get() + at, 0, perThread);
    });
    double best = 0;
    for (int i = 0; i < 3; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        copyAll([&](size_t at) { std::memcpy(to.get() + at, from.get() + at, perThread); });
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::max(best, 2.0 * static_cast<double>(perThread * threads) / took.count());
    }
    return best;
}

DeviceProfile query() {
    DeviceProfile out;
    const size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const Caches caches = queryCaches();
    const Lanes lanes = queryLanes();
    out.name = "cpu";
    const std::string model = cpuInfo("model name");
    out.title = model.empty() ? "this machine" : model;
    out.kind = "cpu";
    out.arch = lanes.arch;
    out.units = static_cast<double>(cores);
    out.lanesPerUnit = 2 * lanes.count; // two vector pipes
    out.clock = queryClock(out.sources["clock"]);
    out.l2Bytes = caches.last > 0 ? caches.last : 8e6;
    out.dramBandwidth = measureCopy(out.l2Bytes, cores);
    out.l2Bandwidth = 4 * out.dramBandwidth;
    out.fp32Flops = out.units * out.clock * out.lanesPerUnit * 2;
    out.fp16MatrixFlops = out.fp32Flops;
    out.tf32MatrixFlops = out.fp32Flops;
    out.launchSeconds = threadHandover;
    out.sharedBytesPerUnit = caches.first > 0 ? caches.first : 32768;
    out.registersPerUnit = 32 * lanes.count;
    out.threadsPerUnit = 1;
    out.sources["units"] = "queried";
    out.sources["lanes_per_unit"] = "queried lanes times two pipes";
    out.sources["l2_bytes"] = caches.last > 0 ? "queried: the last level" : "estimated";
    out.sources["dram_bandwidth"] = "measured: a copy at start-up";
    out.sources["l2_bandwidth"] = "estimated: 4 times the copy bandwidth";
    out.sources["fp32_flops"] = "derived: units, clock, lanes, multiply-add";
    out.sources["fp16_matrix_flops"] = "float32 lanes";
    out.sources["tf32_matrix_flops"] = "float32 lanes";
    out.sources["launch_seconds"] = "estimated";
    out.sources["shared_bytes_per_unit"] = caches.first > 0 ? "queried: first level" : "estimated";
    out.sources["registers_per_unit"] = "derived from the lanes";
    out.sources["threads_per_unit"] = "one";
    for (const char* name : {"matrix_efficiency", "filter_gain", "overlap", "residency"})
        out.sources[name] = "start value";
    return out;
}

} // namespace

const DeviceProfile& thisMachine() {
    static const DeviceProfile profile = query();
    return profile;
}

} // namespace fuselage
