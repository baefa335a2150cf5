// SPDX-License-Identifier: Apache-2.0
// What may be chosen of the cuda backend.
#pragma once

#include "gpu/tune/tune_options.h"

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

} // namespace fuselage::gpu
