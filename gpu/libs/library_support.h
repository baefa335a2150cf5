// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's libraries have for a step on a device that need not be here: cuDNN plans for the
// properties of a device profile. For predictions and for tests of support; measures nothing.
#pragma once

#include "gpu/emit/tactic.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace fuselage::gpu {

struct LibrarySupport {
    std::string library;           ///< "cudnn", "cublaslt"
    size_t configurations = 0;     ///< that the request allows
    int64_t workspaceBytes = 0;    ///< least of theirs
    std::string notes;             ///< of the first: "compiled at run time, tensor cores"
    std::optional<Reason> refused; ///< with no configuration
    std::vector<Reason> dropped;   ///< configurations that the request does not allow
    bool askedOnDevice = false;    ///< algorithms are known on the device only

    bool supported() const { return !refused; }
};

/// "cudnn: 3 configurations, workspace 0, compiled at run time", or the refusal.
std::string text(const LibrarySupport& support);

class LibraryPlanner {
public:
    /// Error "library-missing" (no cuDNN, or one that cannot plan without a device),
    /// "cudnn.properties".
    static Result<std::unique_ptr<LibraryPlanner>> make(const DeviceProfile& profile);
    virtual ~LibraryPlanner() = default;

    /// "cuDNN 9.19.0 (libcudnn.so.9) for sm_90"
    virtual std::string description() const = 0;

    /// False without a libcuda: then only engines that come compiled can be asked.
    virtual bool asksCompilingEngines() const = 0;

    /// cuDNN, then cuBLASLt. `finish`: also finishes cuDNN's first plan, which may compile for
    /// seconds, for its exact workspace.
    virtual std::vector<LibrarySupport> support(const KernelRequest& request, bool finish) = 0;
};

} // namespace fuselage::gpu
