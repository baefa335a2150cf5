// SPDX-License-Identifier: Apache-2.0
// What share of a device the blocks of a tiled product keep busy, from its name and its launch: the
// order of candidates that were never measured, beside the shares by kind of tactic.
#pragma once

#include "gpu/emit/tactic.h"

#include <string_view>

namespace fuselage::gpu {

/// Results that a tile computes and nobody wants, stages that channels do not fill, multiprocessors
/// that the last round of tiles leaves idle, and operands that small tiles read more often and
/// blocks of a cluster half as often; where a kernel's clocks are counted, what these leave.
/// Between 0 and 1; 1 for what is no tiled product of ours.
double busyShare(const KernelRequest& request, const Tactic& tactic);

/// The same of a kernel set of ours.
double busyShare(const KernelRequest& request, const KernelSet& set);

/// What a kernel of ours is made of, as far as its price goes.
struct KernelTerms {
    std::string variant;
    double busy = 1; ///< busyShare()
    MemoryAsked memory;
};

KernelTerms termsOf(const KernelRequest& request, const KernelSet& set);

/// What a run of a kernel of ours is predicted to take, in seconds: the program's estimate, with
/// sectors that are fetched for a part of their bytes (l2), with the requests of its threads and
/// what these ask of the first cache (issue), by what kinds of kernels reach of the peaks. The
/// price of an order of memory is what the best of them takes in it.
double predictedRun(const KernelTerms& kernel, const TimeEstimate& program,
                    const DeviceProfile& profile);

/// What a run of a tactic that computes the request is predicted to take, in seconds.
double predictedRun(const KernelRequest& request, const TimeEstimate& program,
                    const Tactic& tactic);

} // namespace fuselage::gpu
