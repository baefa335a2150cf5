// SPDX-License-Identifier: Apache-2.0
// Which engines of cuDNN can run a graph on a device, present or only described, what they are
// like, and finished plans of them.
#pragma once

#include "gpu/libs/cudnn_ops.h"

#include <string>
#include <utility>
#include <vector>

namespace fuselage::gpu::cudnn {

/// The device to plan for: a handle where there is one, else properties.
struct Target {
    LibraryPtr library;
    Handle handle = nullptr;
    Descriptor properties; ///< without a handle
};

/// For a device that is not here. Error "library-missing" when the library is too old for it
/// (older than 9.8), "cudnn.properties" when it refuses the properties.
Result<std::shared_ptr<const Target>> describedTarget(const LibraryPtr& library,
                                                      const std::string& json);

/// One configuration of one engine.
struct Configuration {
    int64_t engine = 0;
    std::vector<std::pair<int, int64_t>> knobs; ///< type and value, sorted
    int64_t workspaceBytes = 0; ///< as far as it is known before the plan is finished
    bool runtimeCompiled = false;
    bool graphNative = false;
    bool tensorCore = false;
    bool reorders = false; ///< wants weights in an order of its own
    bool deterministic = true;
    NumericClass numeric = NumericClass::Reassociated;
    std::vector<std::string> notes; ///< in words, sorted

    /// "e10 tile 13 stages 4": stable between processes.
    std::string name() const;
};

/// One that the library offered for a graph.
struct FoundConfiguration : Configuration {
    Descriptor descriptor; ///< refers to the graph
};

/// Heuristic mode A, then the fallback list when A gives none. Empty lists become a Reason with the
/// library's words.
std::variant<std::vector<FoundConfiguration>, Reason>
configurations(const Target& target, const OperationGraph& graph, size_t most);

Reason workspaceReason(int64_t need, int64_t limit);

/// Why the request does not allow the configuration: its numeric class, TF32,
/// workspace, reordered weights.
std::optional<Reason> configurationReason(const Configuration& configuration,
                                          const KernelRequest& request,
                                          const GraphDescription& description);

/// Where a convolution was refused that is not channels last, that is the first thing to change.
Reason withLayout(Reason reason, const GraphDescription& description);

struct Plan {
    Descriptor descriptor;
    int64_t workspaceBytes = 0;
};

/// May take a second where the engine compiles; may run beside other threads' plans.
std::variant<Plan, Reason> finishPlan(const Target& target,
                                      const FoundConfiguration& configuration);

/// The same from Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION of a plan that was
/// finished for such a device by the same version; takes a millisecond, code that was compiled
/// included.
std::variant<Plan, Reason> restorePlan(const Target& target, const std::string& json,
                                       const std::string& name);

} // namespace fuselage::gpu::cudnn
