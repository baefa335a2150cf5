// SPDX-License-Identifier: Apache-2.0
// Two layers as two launches: what computes a chain where none of its own kernels is right, or fast
// enough. Each member is computed as a step of its own would be, and the hidden value between them
// lies in the workspace; two layers behind a row are a step that may be a chain again, or apart
// too. So the planner's prediction that one launch is faster is measured, and the kernels of chains
// are compared with others than themselves.
#pragma once

#include "gpu/emit/tactic.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fuselage::gpu {

struct ApartTactics {
    std::vector<std::unique_ptr<Tactic>> candidates; ///< "layers_apart FIRST + SECOND"
    std::map<std::string, double> seconds;           ///< by name: what a run is predicted to take
};

/// Pairs of what `candidatesOf` gives for the two members, last resorts left out: the plain kernels
/// of both, and of each member the kernel of ours and the library's call that are predicted to be
/// the fastest, in all combinations. Of a member that is a chain, its own pairs count as a
/// library's calls. None for other programs. The chain's program and profile outlive the tactics.
ApartTactics apartTactics(
    const KernelRequest& chain,
    const std::function<std::vector<std::unique_ptr<Tactic>>(const KernelRequest&)>& candidatesOf);

} // namespace fuselage::gpu
