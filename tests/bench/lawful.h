// SPDX-License-Identifier: Apache-2.0
// Rewrite rules that are right because of how they are made: a random expression on the left, on
// the right what laws of arithmetic make of it, one step after the other.
#pragma once

#include <cstdint>
#include <string>

namespace fuselage::bench {

/// The text of a rule `name`, the same for equal seeds.
std::string lawfulRule(const std::string& name, uint64_t seed);

} // namespace fuselage::bench
