// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries as sources of tactics, for a device that is here.
#pragma once

#include "gpu/emit/tactic.h"

#include <memory>
#include <string>
#include <vector>

namespace fuselage::gpu {

class Device;

struct LibrarySources {
    std::vector<std::unique_ptr<TacticSource>> sources;
    std::vector<Reason> missing; ///< library-missing(library, what was tried), one a library
};

/// cuDNN and cuBLASLt, those that can be opened. The device outlives the sources. `cacheFolder`:
/// where finished plans are kept for the next process; empty: nowhere.
LibrarySources librarySources(Device& device, const std::string& cacheFolder);

Result<std::unique_ptr<TacticSource>> makeCudnnSource(Device& device,
                                                      const std::string& cacheFolder);
Result<std::unique_ptr<TacticSource>> makeCublasLtSource(Device& device);

} // namespace fuselage::gpu
