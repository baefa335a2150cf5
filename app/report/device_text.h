// SPDX-License-Identifier: Apache-2.0
// The part of the text report that only kernels on a device have: times in the graph and alone,
// registers, share of the roofline.
#pragma once

#include "app/pipeline/report.h"

#include <string>
#include <vector>

namespace fuselage::app {

/// One line a kernel, in the order given; empty when no kernel ran on a device.
std::string renderDeviceKernels(const std::vector<const KernelReport*>& kernels,
                                const std::string& timing);

/// Tactics of both plans that must not run, with what they did on the device; empty without any.
std::string renderCondemned(const Report& report);

} // namespace fuselage::app
