// SPDX-License-Identifier: Apache-2.0
// Predictions for tests: of one program alone, whose operands come from memory.
#pragma once

#include "core/cost/time_model.h"

#include <gtest/gtest.h>

namespace fuselage::testing_cost {

inline DeviceProfile h200() {
    auto profile = deviceProfile("h200");
    EXPECT_TRUE(profile) << (profile ? "" : profile.error().text());
    return *profile;
}

inline TimeEstimate timeOf(const KernelProgram& program, const DeviceProfile& profile) {
    return predictTime(program, predictTraffic(program, profile, {}), profile);
}

} // namespace fuselage::testing_cost
