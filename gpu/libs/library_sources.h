// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries as sources of tactics, for a device that is here.
#pragma once

#include "gpu/tactic.h"

#include <memory>
#include <vector>

namespace fuselage::gpu {

class Device;

struct LibrarySources {
    std::vector<std::unique_ptr<TacticSource>> sources;
    std::vector<Reason> missing; ///< library-missing(library, what was tried), one a library
};

/// cuDNN and cuBLASLt, those that can be opened. The device outlives the sources.
LibrarySources librarySources(Device& device);

Result<std::unique_ptr<TacticSource>> makeCudnnSource(Device& device);
Result<std::unique_ptr<TacticSource>> makeCublasLtSource(Device& device);

} // namespace fuselage::gpu
