// SPDX-License-Identifier: Apache-2.0
// One function a family of cases; cases() joins them.
#pragma once

#include "tests/shim/suite.h"

namespace fuselage::gpu_suite {

std::vector<Case> pointwiseCases();
std::vector<Case> rowCases();

} // namespace fuselage::gpu_suite
