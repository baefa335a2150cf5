// SPDX-License-Identifier: Apache-2.0
// What a measurement depends on, as text: the step (program, layouts, what is allowed), the device,
// and the versions of all software that chooses or makes kernels. Equal keys may share one
// measurement; names of nodes, values and rules are no part of a key.
#pragma once

#include "gpu/emit/tactic.h"

#include <compare>
#include <map>
#include <string>

namespace fuselage::gpu {

/// The machine's part of every key.
struct TuneEnvironment {
    std::string device; ///< "NVIDIA H200"
    uint32_t multiprocessors = 0;
    std::string clockPolicy = "default"; ///< "default", "locked 1755 MHz"
    /// "driver", "cuda" and what each TacticSource says of itself; "" is recorded as missing.
    std::map<std::string, std::string> versions;
    std::string emitter; ///< emitterVersion(), another one in tests
};

/// Readable parts and a hash over everything, the parts included.
struct TacticKey {
    std::string step;     ///< "Pointwise (float16[32,64]) => (float16[32,64]) wider workspace 0"
    std::string device;   ///< "NVIDIA H200, 132 multiprocessors, clock default"
    std::string software; ///< "cublaslt 13.0, cuda 13.0, cudnn 9.19, ... emitter 0123456789abcdef"
    std::string hash;     ///< 16 hexadecimal digits

    /// "step | device | software | hash", for messages.
    std::string text() const;

    friend auto operator<=>(const TacticKey&, const TacticKey&) = default;
};

/// `inPlace`: output 0 lies on an operand, where candidates are checked too. `coldWeights`: they
/// are not in the cache when a timed run begins.
TacticKey tacticKey(const KernelRequest& request, const TuneEnvironment& environment,
                    bool inPlace = false, bool coldWeights = false);

/// Hash of the sources that emit kernels and set up libraries' calls, made by the build: measured
/// times do not outlive the text that they were measured with.
std::string emitterVersion();

} // namespace fuselage::gpu
