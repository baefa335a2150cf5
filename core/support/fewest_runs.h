// SPDX-License-Identifier: Apache-2.0
// From how many runs on a measured time may be compared: of fewer nobody knows how far two runs of
// the same thing differ, and the first one of a process is cold.
#pragma once

#include <cstdint>

namespace fuselage {

/// Fewer have a median, but no interval and no verdict.
constexpr uint32_t fewestRuns = 3;

} // namespace fuselage
