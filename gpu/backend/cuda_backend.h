// SPDX-License-Identifier: Apache-2.0
// The cuda backend: generated kernels, NVIDIA's libraries and, as a last resort, the host compute
// the steps of a Plan; the whole plan is one captured graph.
#pragma once

#include "core/plan/backend.h"
#include "gpu/backend/cuda_options.h"

#include <memory>

namespace fuselage::gpu {

/// Errors "device.*" say what is missing: driver, device. A missing NVRTC or library costs its
/// tactics only. The timing cache is read here and written after each prepare(); its errors are
/// those of timing_cache.h.
Result<std::unique_ptr<Backend>> makeCudaBackend(const CudaOptions& options);

} // namespace fuselage::gpu
