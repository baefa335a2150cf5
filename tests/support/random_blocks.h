// SPDX-License-Identifier: Apache-2.0
// Blocks that nobody wrote: a few operators of the usual kinds on a tensor of a random shape, in
// the order that chance gives.
#pragma once

#include "tests/support/choices.h"

#include <string>

namespace fuselage::bench {

/// The text of a graph for smallGraph(). Of at most a million elements and 200 million
/// multiply-adds a node; numbers stay finite.
std::string randomBlock(testing_support::Choices& choices);

} // namespace fuselage::bench
