// SPDX-License-Identifier: Apache-2.0
// A device profile from measurements: small programs that one resource limits each, run on a
// backend, give the figures of that resource; then the parameters of the time model are refitted.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/scatter.h"
#include "core/cost/cost.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct CalibrateOptions {
    BackendKind backend = BackendKind::Cpu; ///< not Auto
    std::string device = "cpu";             ///< profile to begin with: its other figures are kept
    int threads = 0;                        ///< 0: all of the machine
    double seconds = 0.4;                   ///< for each program
};

struct Calibration {
    DeviceProfile before, after;
    std::vector<ScatterPoint> probesBefore, probesAfter; ///< parallel: the same measurements
};

/// Errors of the backend, "cancelled", "device.profile" (the profile is of another kind of device).
Result<Calibration> calibrate(const CalibrateOptions& options, Progress& progress);

} // namespace fuselage::app
