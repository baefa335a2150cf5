// SPDX-License-Identifier: Apache-2.0
// What share of a device the blocks of a tiled product keep busy, from its name and its launch: the
// order of candidates that were never measured, beside the shares by kind of tactic.
#pragma once

#include "gpu/emit/tactic.h"

namespace fuselage::gpu {

/// Results that a tile computes and nobody wants, multiprocessors that the last round of tiles
/// leaves idle, and operands that small tiles read more often and blocks of a cluster half as
/// often; where a kernel's clocks are counted, what these leave. Between 0 and 1; 1 for what is no
/// tiled product of ours.
double busyShare(const KernelRequest& request, const Tactic& tactic);

/// What a run of a tactic that computes the request is predicted to take, in seconds.
double predictedRun(const KernelRequest& request, const TimeEstimate& program,
                    const Tactic& tactic);

} // namespace fuselage::gpu
