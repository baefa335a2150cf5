// SPDX-License-Identifier: Apache-2.0
// How long the kernels of the memory-bound sequences take to issue, against how long their bytes
// take: instructions are counted in what NVRTC makes for sm_90. A kernel whose code goes straight
// through is counted exactly; one with a loop is refused. Prints a table for 65536 x 4096 and fails
// where issue takes longer than the bytes. Exit status 77: NVRTC is not here.
#include "gpu/runtime/nvrtc.h"
#include "tests/gpu_compile/machine_code.h"
#include "tests/shim/traffic_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

using namespace fuselage;

namespace {

constexpr int skipped = 77;
constexpr double elements = 65536.0 * 4096;
constexpr double specialLanes = 16; ///< of a multiprocessor, for MUFU
constexpr double issueLanes = 128;

/// A memory-bound sequence of traffic_cases.cpp.
struct Sequence {
    const char* name;
    int operands; ///< that are read or written whole
};

constexpr Sequence sequences[] = {{"relu_product", 3},
                                  {"gelu_bias", 2},
                                  {"layer_norm", 2},
                                  {"add_layer_norm", 3},
                                  {"softmax", 2}};

struct Gate {
    gpu::Nvrtc& nvrtc;
    DeviceProfile profile;
    int failures = 0;

    void line(const gpu_suite::Case& source, const Sequence& sequence);
};

/// What the machine code does otherwise than the text of the kernel; null: nothing. `vectors`:
/// accesses of 16 bytes that a thread needs for one operand.
const char* problemOf(const machine_code::Instructions& issued, double vectors, size_t inputs) {
    if (issued.total == 0)
        return "the cubin holds no code";
    if (issued.loops)
        return "its code has a loop";
    if (issued.narrow != 0)
        return "an access to global memory is narrower than 16 bytes";
    if (issued.globalStores != vectors ||
        issued.globalLoads != vectors * static_cast<double>(inputs))
        return "operands are not loaded or stored once";
    return nullptr;
}

void Gate::line(const gpu_suite::Case& source, const Sequence& sequence) {
    const gpu_suite::Prepared prepared = gpu_suite::prepareTraffic(source);
    for (const gpu::KernelSet& set : gpu_suite::trafficKernels(prepared)) {
        const gpu::KernelText& kernel = set.kernels[0];
        gpu::CompileOptions options;
        options.arch = "sm_90";
        auto compiled = nvrtc.compile(kernel, options);
        if (!compiled) {
            std::printf("FAILED %s: %s\n", source.name.c_str(), compiled.error().text().c_str());
            ++failures;
            return;
        }
        const machine_code::Instructions issued = machine_code::count(compiled->cubin);
        const OperandType& shape = prepared.program->outputs[0];
        const double threads =
            1.0 * kernel.grid[0] * kernel.grid[1] * kernel.grid[2] * kernel.block[0];
        const double each = static_cast<double>(*elementCount(shape.extents)) / threads;
        const double lanes = profile.units * profile.clock,
                     bytes = static_cast<double>(sizeOf(shape.dtype));
        const double issue = elements * issued.total / each / (lanes * issueLanes);
        const double special = elements * issued.special / each / (lanes * specialLanes);
        const double memory = elements * bytes * sequence.operands / profile.dramBandwidth;
        std::printf("| %s | %s | %.0f | %u | %.1f | %.2f | %.0f | %.0f | %.0f |\n",
                    source.name.c_str(), set.variant.c_str(), each, compiled->registers,
                    issued.total / each, issued.special / each, issue * 1e6, special * 1e6,
                    memory * 1e6);
        const double vectors = each * bytes / 16; // of one operand
        const char* problem = problemOf(issued, vectors, prepared.program->inputs.size());
        if (problem == nullptr && std::max(issue, special) > memory)
            problem = "issue takes longer than its bytes";
        if (problem != nullptr) {
            std::printf("FAILED %s: %s\n", source.name.c_str(), problem);
            ++failures;
        }
    }
}

} // namespace

int main() {
    auto nvrtc = gpu::Nvrtc::open();
    if (!nvrtc) {
        std::printf("skipped: %s\n", nvrtc.error().text().c_str());
        return skipped;
    }
    Gate gate{**nvrtc, *deviceProfile("h200"), 0};
    std::printf(
        "| sequence | kernel | elements a thread | registers | instructions an element | of "
        "them MUFU | issue us | MUFU us | bytes us |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const Sequence& sequence : sequences)
        for (const char* type : {"_half", "_float"})
            for (const gpu_suite::Case& source : gpu_suite::trafficCases())
                if (source.name == std::string(sequence.name) + type)
                    gate.line(source, sequence);
    return gate.failures == 0 ? 0 : 1;
}
