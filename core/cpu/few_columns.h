// SPDX-License-Identifier: Apache-2.0
// Products of so few columns that what a library applies behind them leaves its vectors empty.
#pragma once

#include "core/kernel/epilogue_match.h"
#include "core/kernel/program.h"

namespace fuselage::cpu {

/// oneDNN computes post-ops on vectors along the columns, or output channels: with few of them a
/// pass of our own over all results is faster, if a function takes longer than to load and store.
bool wastesLanes(const Contraction& program, const MatchedEpilogue& epilogue);

} // namespace fuselage::cpu
