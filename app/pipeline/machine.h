// SPDX-License-Identifier: Apache-2.0
// What this machine is, for reports: processor, instruction sets, accelerators found or missed.
#pragma once

#include <string>
#include <vector>

namespace fuselage::app {

struct MachineInfo {
    std::string cpu;                          ///< model name
    std::vector<std::string> instructionSets; ///< those that kernels care about: "avx2" ...
    int cores = 1;                            ///< available to this process
    std::string cudaDriver;                   ///< path of libcuda if it can be opened, else empty
};

MachineInfo inspectMachine();

/// One of NVIDIA's libraries.
struct FoundLibrary {
    std::string name;    ///< "libcudnn"
    std::string path;    ///< empty: missing
    std::string version; ///< empty: unknown
    std::string missing; ///< what was tried
};

/// Driver, NVRTC, cuBLASLt, cuDNN, CUPTI, NVML; empty when the program was built without cuda.
std::vector<FoundLibrary> inspectCudaLibraries();

/// "AMD EPYC ..., avx2 avx512f avx512_bf16"
std::string text(const MachineInfo& machine);

} // namespace fuselage::app
