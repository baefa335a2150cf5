// SPDX-License-Identifier: Apache-2.0
// Well-known networks as graphs with seeded weights, in the operator forms that exporters write, so
// that demos and tests need no download. Architecture only: the weights are random, scaled so that
// activations stay in range and a wrong fold shows.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::zoo {

struct ZooEntry {
    std::string name;
    std::string description;
    Graph (*write)(uint64_t seed);
    bool isRead = false; ///< it holds operators that reading a file turns into others
};

/// All models in the order in which `fuselage zoo` lists them.
const std::vector<ZooEntry>& models();

/// The named model as its file, with the operators of its spelling; error "zoo.unknown" lists the
/// names.
Result<Graph> written(const std::string& name, uint64_t seed = 1);

/// The same as it is after reading that file.
Result<Graph> build(const std::string& name, uint64_t seed = 1);

} // namespace fuselage::zoo
