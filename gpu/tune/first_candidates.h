// SPDX-License-Identifier: Apache-2.0
// Which candidates are built before anything of a device is measured, so that a first result does
// not wait for all of them: of every key the one that is predicted to be the fastest, then what can
// judge it, then others of the keys that take longest.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// Before it is built.
struct OfferedCandidate {
    std::string name;
    double seconds = 0; ///< predicted
    bool plain = false; ///< others are compared with it
};

/// Positions in the keys, and in the key's candidates.
struct FirstCandidate {
    size_t key = 0, candidate = 0;
};

/// In the order in which they are to be built: one of every key, and not more than `most` in all
/// beyond that. Where all together are not more, that is all of them.
std::vector<FirstCandidate> firstCandidates(const std::vector<std::vector<OfferedCandidate>>& keys,
                                            size_t most);

} // namespace fuselage::gpu
