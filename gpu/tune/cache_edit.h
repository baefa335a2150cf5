// SPDX-License-Identifier: Apache-2.0
// What a person does with timing caches: compare two, drop what is out of date. The command line
// prints what comes out of here.
#pragma once

#include "gpu/tune/timing_cache.h"

#include <string>
#include <vector>

namespace fuselage::gpu {

/// The candidate that a cache's entry makes a plan take; null when all are refused.
const CandidateRecord* chosenOf(const TimingEntry& entry);

/// One key that differs between two caches.
struct CacheDifference {
    enum class Kind : uint8_t {
        Added,   ///< only in the second
        Removed, ///< only in the first
        Choice,  ///< another tactic would be taken
        Time,    ///< the same tactic, by more than its tie band
    };

    Kind kind = Kind::Added;
    TacticKey key;
    std::string before, after; ///< "row_warp 12.300 us", empty where there is none
};

/// In order of keys. Differences that no plan would notice are left out.
std::vector<CacheDifference> compareCaches(const TimingCache& before, const TimingCache& after);

struct PruneRules {
    std::string emitter; ///< keep keys of this emitterVersion() only; empty: of any
    std::string device;  ///< keep keys whose device contains this text; empty: all
};

/// Removes what no longer counts and returns how many keys went.
size_t pruneCache(TimingCache& cache, const PruneRules& rules);

} // namespace fuselage::gpu
