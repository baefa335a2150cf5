// SPDX-License-Identifier: Apache-2.0
// What the comparison runs: networks of the zoo as files with stored inputs, so that everyone who
// is compared runs the same sizes, and one large graph. Measures the large graph; the networks are
// measured from outside.
#pragma once

#include "tests/strangers/cases.h"

#include <map>
#include <string>

namespace fuselage::bench {

/// A network's file and inputs (seed 1), one token behind a cache of 127, images of 16 x 16 in the
/// middle of a U-Net.
struct Subject {
    strangers::Case stored;
    std::map<std::string, int64_t> dims; ///< its symbols, as the inputs have them
};

/// `name` of the zoo, or name:16 for a batch of 16, written to the folder.
Result<Subject> makeSubject(const std::string& name, const std::string& folder);

struct LargeGraph {
    size_t nodes = 0;      ///< in the file
    size_t fusedNodes = 0; ///< after the whole library
    double loadSeconds = 0, fuseSeconds = 0;
};

/// Writes a graph of at least 10,000 nodes (residual blocks of an image, blocks of a transformer),
/// loads it and rewrites it with the whole library.
Result<LargeGraph> measureLargeGraph(const std::string& folder);

} // namespace fuselage::bench
