// SPDX-License-Identifier: Apache-2.0
// Which candidate of a key is taken: a pure function of what the timing cache holds, so that equal
// caches give equal plans, whatever the order in which candidates were found or measured.
#pragma once

#include "gpu/tune/timing_cache.h"

#include <vector>

namespace fuselage::gpu {

/// Candidates closer than this to the fastest one are as fast: 2 %, at least 0.3 microseconds.
double tieBand(double median);

/// Indexes into the entry, best first; refused candidates are left out. Of candidates within the
/// tie band the deterministic one comes first, then less workspace, then the smaller name. After
/// all of these come eliminated candidates, then last resorts.
std::vector<size_t> ranking(const TimingEntry& entry);

} // namespace fuselage::gpu
