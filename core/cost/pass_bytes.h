// SPDX-License-Identifier: Apache-2.0
// What one pass of a sweep moves, operand by operand: the planner sums it over the steps that it
// lets run together (core/plan/sweep_cost.cpp).
#pragma once

#include "core/cost/cost.h"

#include <vector>

namespace fuselage {

struct PassBytes {
    std::vector<double> read, written; ///< parallel to the program's inputs and outputs
    std::vector<double> passes;        ///< per input: how often the kernel reads it from L2
};

PassBytes passBytes(const KernelProgram& program, const DeviceProfile& profile);

/// Share of an operand of so many bytes that comes from DRAM when `distance` bytes were touched
/// since it was last; all of it without a cache.
double missShare(double distance, double bytes, const DeviceProfile& profile);

} // namespace fuselage
