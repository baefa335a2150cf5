// SPDX-License-Identifier: Apache-2.0
// CUDA text -> cubin through NVRTC, which needs no GPU. Compiles anew each time: cubin_cache keeps
// what it made.
#pragma once

#include "core/support/result.h"
#include "gpu/emit/kernel_text.h"
#include "gpu/runtime/libraries.h"

#include <memory>
#include <string>
#include <vector>

namespace fuselage::gpu {

struct CompileOptions {
    std::string arch = "sm_90"; ///< sm_75 and up
    bool contraction = true;    ///< fused multiply-add across former edges (off in strict mode)
    uint32_t maxRegisters = 0;  ///< 0: the compiler decides
};

/// A compiled kernel with what the compiler said of it.
struct CompiledKernel {
    std::string cubin;
    std::string log;
    uint32_t registers = 0;
    uint32_t sharedBytes = 0; ///< static
    uint32_t localBytes = 0;  ///< spills
};

/// The compiler; safe to use from several threads.
class Nvrtc {
public:
    /// Error "library-missing" names what was tried.
    static Result<std::shared_ptr<Nvrtc>> open();
    virtual ~Nvrtc() = default;
    virtual std::string version() const = 0;
    virtual std::vector<std::string> architectures() const = 0;
    /// A kernel that spills is compiled again for fewer blocks on a multiprocessor, which leaves
    /// each thread more registers. Error "nvrtc.compile" holds the log with lines of the text.
    virtual Result<CompiledKernel> compile(const KernelText& kernel,
                                           const CompileOptions& options) = 0;
};

} // namespace fuselage::gpu
