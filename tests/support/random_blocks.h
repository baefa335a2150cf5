// SPDX-License-Identifier: Apache-2.0
// Blocks that nobody wrote: a few operators of the usual kinds on a tensor of a random shape, in
// the order that chance gives.
#pragma once

#include "tests/support/choices.h"

#include <string>

namespace fuselage::testing_support {

struct BlockLimits {
    int64_t elements = 1'000'000; ///< of a value; multiply-adds of a node: 200 times as many
    bool anyType = false;         ///< also doubles and integers, with the operators that take them
};

/// The text of a graph for smallGraph(). Numbers stay finite.
std::string randomBlock(Choices& choices, const BlockLimits& limits = {});

} // namespace fuselage::testing_support
