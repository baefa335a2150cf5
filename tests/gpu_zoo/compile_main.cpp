// SPDX-License-Identifier: Apache-2.0
// The compile gate of the zoo: kernels that are generated for zoo models, once each, through NVRTC
// without a spill and within the registers that their launch allows. Needs no GPU. By default a few
// kernels of each variant and model for one architecture; names of architectures ask for all
// kernels of those, --all for all kernels of all seven. Exit status 77: NVRTC is not here.
#include "app/zoo/zoo.h"
#include "gpu/nvrtc.h"
#include "tests/gpu_zoo/zoo_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

using namespace fuselage;

namespace {

constexpr int skipped = 77;
constexpr size_t sampled = 2; ///< kernels of a variant and model
constexpr uint32_t registersOfUnit = 65536;

struct ZooKernel {
    std::string variant, from; ///< the first program it was made for
    gpu::KernelText text;
};

/// Distinct kernels; equal texts have equal names.
std::vector<ZooKernel> kernelsOf(const std::string& model, std::set<std::string>& seen) {
    std::vector<ZooKernel> out;
    for (Precision precision : {Precision::Fp32, Precision::Fp16})
        for (const gpu_zoo::ZooProgram& program : gpu_zoo::programsOf(model, precision))
            for (gpu::KernelSet& set : gpu::emitAll(program.request).accepted)
                for (gpu::KernelText& kernel : set.kernels)
                    if (seen.insert(kernel.name).second)
                        out.push_back({set.variant, gpu_zoo::describe(program), std::move(kernel)});
    return out;
}

/// A few of each variant, evenly over the model, so that CI takes a minute.
std::vector<ZooKernel> sampleOf(std::vector<ZooKernel> kernels) {
    std::map<std::string, std::vector<size_t>> byVariant;
    for (size_t i = 0; i < kernels.size(); ++i)
        byVariant[kernels[i].variant].push_back(i);
    std::vector<ZooKernel> out;
    for (const auto& [variant, all] : byVariant)
        for (size_t i = 0; i < std::min(sampled, all.size()); ++i)
            out.push_back(std::move(kernels[all[i * all.size() / std::min(sampled, all.size())]]));
    return out;
}

struct Gate {
    gpu::Nvrtc& nvrtc;
    std::mutex mutex;
    int failures = 0;
    std::map<std::string, std::pair<uint32_t, uint32_t>> figures; ///< variant: kernels, registers

    void compile(const ZooKernel& kernel, const std::string& arch) {
        gpu::CompileOptions options;
        options.arch = arch;
        auto compiled = nvrtc.compile(kernel.text, options);
        const std::lock_guard lock(mutex);
        if (!compiled) {
            std::printf("FAILED %s, %s: %s\n", kernel.from.c_str(), arch.c_str(),
                        compiled.error().text().c_str());
            ++failures;
            return;
        }
        auto& [count, registers] = figures[kernel.variant];
        ++count;
        registers = std::max(registers, compiled->registers);
        const uint32_t most = std::min(255U, registersOfUnit / kernel.text.block[0]);
        if (compiled->localBytes == 0 && compiled->registers <= most)
            return;
        std::printf("FAILED %s, %s, %s: %u registers of %u, %u bytes of local memory\n",
                    kernel.from.c_str(), kernel.text.name.c_str(), arch.c_str(),
                    compiled->registers, most, compiled->localBytes);
        ++failures;
    }
};

void compileAll(Gate& gate, const std::vector<ZooKernel>& kernels,
                const std::vector<std::string>& archs) {
    std::atomic<size_t> next{0};
    auto work = [&] {
        for (size_t i = next++; i < kernels.size() * archs.size(); i = next++)
            gate.compile(kernels[i / archs.size()], archs[i % archs.size()]);
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < std::min(4U, std::max(1U, std::thread::hardware_concurrency())); ++i)
        others.emplace_back(work);
    work();
    for (std::thread& other : others)
        other.join();
}

} // namespace

int main(int argc, char** argv) {
    auto nvrtc = gpu::Nvrtc::open();
    if (!nvrtc) {
        std::printf("skipped: %s\n", nvrtc.error().text().c_str());
        return skipped;
    }
    std::vector<std::string> archs = {"sm_90"};
    if (argc == 2 && std::string_view(argv[1]) == "--all")
        archs = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
    else if (argc > 1)
        archs.assign(argv + 1, argv + argc);
    const std::vector<std::string> known = (*nvrtc)->architectures();
    std::erase_if(archs, [&](const std::string& arch) {
        return std::find(known.begin(), known.end(), arch) == known.end();
    });
    if (archs.empty())
        return skipped;
    const auto start = std::chrono::steady_clock::now();
    Gate gate{**nvrtc, {}, 0, {}};
    std::set<std::string> seen;
    for (const zoo::ZooEntry& entry : zoo::models()) {
        std::vector<ZooKernel> kernels = kernelsOf(entry.name, seen);
        const size_t all = kernels.size();
        if (argc == 1)
            kernels = sampleOf(std::move(kernels));
        compileAll(gate, kernels, archs);
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        std::printf("%-20s %4zu of %4zu new kernels, %6.1f s so far\n", entry.name.c_str(),
                    kernels.size(), all, seconds);
        std::fflush(stdout);
    }
    std::printf("NVRTC %s, %zu architectures; kernels compiled, most registers\n",
                (*nvrtc)->version().c_str(), archs.size());
    for (const auto& [variant, figures] : gate.figures)
        std::printf("%-18s %5u %4u\n", variant.c_str(), figures.first, figures.second);
    return gate.failures == 0 ? 0 : 1;
}
