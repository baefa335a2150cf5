// SPDX-License-Identifier: Apache-2.0
// Figures of rounds, and the file in which a table is published with the notes that a person wrote.
#pragma once

#include <string>
#include <vector>

namespace fuselage::bench {

/// One figure a round.
using Rounds = std::vector<double>;

double median(Rounds values);

/// 0 of none.
double geometricMean(const std::vector<double>& values);

/// "1.25 (1.20-1.31)": median and the lowest and highest round; "-" of none.
std::string spread(const Rounds& values, int decimals);

/// The load average of the last minute; "unknown".
std::string loadText();

/// What stands in the file below "## Notes" is kept. False: cannot be written.
bool publish(const std::string& file, const std::string& title, const std::string& command,
             const std::string& results);

} // namespace fuselage::bench
