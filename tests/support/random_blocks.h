// SPDX-License-Identifier: Apache-2.0
// Blocks that nobody wrote: a few operators of the usual kinds on a tensor of a random shape, in
// the order that chance gives.
#pragma once

#include "tests/support/choices.h"

#include <string>

namespace fuselage::testing_support {

/// The text of a graph for smallGraph(). No value has more elements than that, and no node more
/// than 200 times as many multiply-adds; numbers stay finite.
std::string randomBlock(Choices& choices, int64_t mostElements = 1'000'000);

} // namespace fuselage::testing_support
