// SPDX-License-Identifier: Apache-2.0
// Which backends can be used on this machine, for people: `doctor` and the first page of Studio.
#pragma once

#include <string>
#include <vector>

namespace fuselage::app {

struct BackendState {
    std::string name;
    bool usable = false;
    std::string text; ///< the backend about itself, or why it cannot be used
};

/// Tries each: may take a second where there is a device. Order: the one that "auto" prefers first.
std::vector<BackendState> inspectBackends();

/// What names of the cuda backend's tactics begin with: variants of generated kernels, "cudnn",
/// "cublaslt". Empty in a program without that backend.
std::vector<std::string> tacticFamilies();

/// What "auto" takes of them.
std::string usedBackend(const std::vector<BackendState>& backends);

} // namespace fuselage::app
