// SPDX-License-Identifier: Apache-2.0
// The cuda backend: generated kernels, NVIDIA's libraries and, as a last resort, the host compute
// the steps of a Plan; the whole plan is one captured graph.
#pragma once

#include "core/plan/backend.h"
#include "gpu/tune/tune_options.h"

#include <memory>
#include <string>

namespace fuselage::gpu {

struct CudaOptions {
    int device = 0;
    int threads = 0;     ///< that build tactics and run the host's functions; 0: all of the machine
    bool measure = true; ///< false: tactics are chosen by prediction
    /// Folder of machine code and of cuDNN's plans; see cacheFolder().
    std::string cache;
    TuneOptions tune;
};

/// Errors "device.*" say what is missing: driver, device. A missing NVRTC or library costs its
/// tactics only. The timing cache is read here and written after each prepare(); its errors are
/// those of timing_cache.h.
Result<std::unique_ptr<Backend>> makeCudaBackend(const CudaOptions& options);

} // namespace fuselage::gpu
