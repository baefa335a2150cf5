// SPDX-License-Identifier: Apache-2.0
// Candidates that are not even built: those that a person leaves out by name, and variants of our
// kernels that took the device with them in several steps. A pure function of names and the timing
// cache, so nothing of it is stored.
#pragma once

#include "core/support/reason.h"
#include "gpu/tune/timing_cache.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::gpu {

/// What a tactic's name begins with: "tensor_64x64" of "tensor_64x64 2", "cudnn" of "cudnn e5".
std::string_view familyOf(std::string_view tactic);

/// The same; of a tactic that is made of others, "layers_apart A + B", those of A and of B.
std::vector<std::string_view> familiesOf(std::string_view tactic);

/// Whether all of its families are.
bool isAmong(std::string_view tactic, const std::set<std::string, std::less<>>& families);

/// Variants of which candidates of at least two keys were lost or hung ("device.lost",
/// "device.hung"), among keys of this one's device and software, the emitter's version included.
/// A process that was killed ("device.crashed") does not count: anything may have killed it.
std::set<std::string, std::less<>> condemnedFamilies(const TimingCache& cache,
                                                     const TacticKey& key);

/// What was measured on this device with this software: what it begins with has run here. Not last
/// resorts, which run anywhere.
std::set<std::string, std::less<>> measuredFamilies(const TimingCache& cache, const TacticKey& key);

/// Why the candidate is left out; none: it is not. `without`: families, `*` stands for anything.
std::optional<Reason> whyLeftOut(const std::string& tactic, bool generated,
                                 const std::vector<std::string>& without,
                                 const std::set<std::string, std::less<>>& condemned);

} // namespace fuselage::gpu
