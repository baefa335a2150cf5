// SPDX-License-Identifier: Apache-2.0
// Figures of rounds, and the file in which a table is published with the notes that a person wrote.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

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

/// Where a table is kept beside being printed; both are empty where it is not.
struct Publication {
    std::string file, command; ///< what a person types to make it again
};

/// Adds --publish and --command.
void addOptions(CLI::App& app, Publication& where);

/// Prints the results and publishes them below a title and what must be known to read them. What
/// stands in the file below "## Notes" is kept. The exit status: 1 when it cannot be written.
int publish(const Publication& where, const std::string& title, const std::string& reading,
            const std::string& results);

} // namespace fuselage::bench
