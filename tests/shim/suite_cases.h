// SPDX-License-Identifier: Apache-2.0
// One function a family of cases; cases() joins them.
#pragma once

#include "tests/shim/suite.h"

namespace fuselage::gpu_suite {

std::vector<Case> pointwiseCases();
std::vector<Case> rowCases();
std::vector<Case> copyCases();
std::vector<Case> windowCases();
std::vector<Case> groupCases();
std::vector<Case> depthwiseCases();
std::vector<Case> fewChannelsCases();
std::vector<Case> haloCases();
std::vector<Case> pixelCases();
std::vector<Case> contractionCases();
std::vector<Case> integerCases();
std::vector<Case> attentionCases();
std::vector<Case> libraryCases();
std::vector<Case> chainCases();
std::vector<Case> fewBitsCases();

} // namespace fuselage::gpu_suite
