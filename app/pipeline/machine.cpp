// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/machine.h"

#include "core/support/parallel.h"
#include "core/support/processor.h"
#if FUSELAGE_HAS_CUDA
#include "gpu/runtime/libraries.h"
#endif

#include <array>
#include <dlfcn.h>
#include <sstream>

namespace fuselage::app {

namespace {

constexpr std::array interesting{"sse4_2",      "avx",         "avx2",     "fma",     "avx512f",
                                 "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8"};

std::string cudaDriverPath() {
    void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr)
        return {};
    Dl_info info{};
    void* symbol = dlsym(library, "cuInit");
    bool located = symbol != nullptr && dladdr(symbol, &info) != 0 && info.dli_fname != nullptr;
    std::string path = located ? info.dli_fname : "libcuda.so.1";
    dlclose(library);
    return path;
}

} // namespace

MachineInfo inspectMachine() {
    MachineInfo out;
    out.cpu = cpuInfo("model name");
    if (out.cpu.empty())
        out.cpu = "unknown processor";
    std::istringstream flags(cpuInfo("flags"));
    for (std::string flag; flags >> flag;)
        for (const char* wanted : interesting)
            if (flag == wanted)
                out.instructionSets.push_back(flag);
    out.cores = machineThreads();
    out.cudaDriver = cudaDriverPath();
    return out;
}

std::vector<FoundLibrary> inspectCudaLibraries() {
    std::vector<FoundLibrary> out;
#if FUSELAGE_HAS_CUDA
    for (const gpu::LibraryFacts& facts : gpu::inspectLibraries())
        out.push_back(
            {facts.name, facts.path, facts.version, facts.missing ? facts.missing->message : ""});
#endif
    return out;
}

std::string text(const MachineInfo& machine) {
    std::string out = machine.cpu;
    for (size_t i = 0; i < machine.instructionSets.size(); ++i)
        out += (i ? " " : ", ") + machine.instructionSets[i];
    return out;
}

} // namespace fuselage::app
