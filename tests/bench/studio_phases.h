// SPDX-License-Identifier: Apache-2.0
// Where the time of opening a model and of editing a rule goes, stage by stage, without a window:
// what `bench_studio --phases` prints. Holds no budgets.
#pragma once

#include <string>

namespace fuselage {

/// Opens the model once and edits a rule of it a few times; one line a stage, in milliseconds of
/// the processor (all threads) and of the clock.
std::string phasesOf(const std::string& model);

} // namespace fuselage
