// SPDX-License-Identifier: Apache-2.0
// What a match gains, measured: both forms of the nodes that it touches, run side by side. For
// matches that a prediction cannot judge; what was found is kept in a text file.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/gain.h"

#include <map>
#include <string>

namespace fuselage::app {

struct MeasureGainOptions {
    BackendKind backend = BackendKind::Auto;
    int threads = 0;  ///< 0: all of the machine
    std::string file; ///< keeps what was measured, one match a line; empty: this process only
};

/// Measures in turns, for about a twentieth of a second a match and at least seven rounds; matches
/// that are alike are measured once. The file keeps what is clear: differences beyond the spread.
/// `progress` must outlive it: cancelling ends a measurement between two runs, without a verdict.
/// Errors: those of makeBackend(), "file.read", "cache.format" of the file, "usage.decide" when the
/// profile is of another kind of device than the backend runs on.
Result<GainMeasurer> gainMeasurer(const MeasureGainOptions& options, const MatchPlanning& planning,
                                  const DeviceProfile& profile, Progress& progress);

} // namespace fuselage::app
