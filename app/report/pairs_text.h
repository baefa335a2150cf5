// SPDX-License-Identifier: Apache-2.0
// What the pairs of a quantised model open and block, and what values in few bits cost, as text.
#pragma once

#include "app/pipeline/report.h"

#include <string>
#include <vector>

namespace fuselage::app {

/// "Contraction of int8 for `conv` by QuantizedConv", or that nothing reads the stored numbers.
std::string opensText(const PairReport& pair);

/// "ConvBNReLU on `conv` and `relu`"; empty where the pair blocks nothing.
std::string blocksText(const PairReport& pair);

/// A summary, and the pairs that open nothing or block something, at most so many; `all`: those
/// that only open something, too. Empty without pairs.
std::string renderPairs(const std::vector<PairReport>& pairs, size_t most, bool all = false);

/// Nodes that lose the largest share of their result first.
std::vector<NodeErrorReport> worstFirst(std::vector<NodeErrorReport> errors);

/// "2.1e-03 (53.4 dB)"; "0" where nothing is lost.
std::string nodeErrorText(const NodeErrorReport& error);

/// The worst nodes, at most so many. Empty where errors were not asked for.
std::string renderNodeErrors(const std::vector<NodeErrorReport>& errors, size_t most);

} // namespace fuselage::app
