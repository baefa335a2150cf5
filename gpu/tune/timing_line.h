// SPDX-License-Identifier: Apache-2.0
// One key of the timing cache as one line of JSON, and back. The only place that knows the names of
// its fields.
#pragma once

#include "gpu/tune/timing_cache.h"

#include <string>
#include <string_view>
#include <utility>

namespace fuselage::gpu {

/// The first line of every cache.
std::string timingCacheHeader();

/// True for the header of a cache that this program reads.
bool isTimingCacheHeader(std::string_view line);

/// Fields in a fixed order; no end of line.
std::string timingLine(const TacticKey& key, const TimingEntry& entry);

/// Error "cache.line" names the field or the column.
Result<std::pair<TacticKey, TimingEntry>> parseTimingLine(std::string_view line);

/// The record as its own object: the last tie-breaker of a merge.
std::string recordText(const CandidateRecord& record);

/// As it is read back: times rounded to a nanosecond, texts of bounded length.
CandidateRecord normalised(CandidateRecord record);

} // namespace fuselage::gpu
