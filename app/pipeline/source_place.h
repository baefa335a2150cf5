// SPDX-License-Identifier: Apache-2.0
// Where an exporter says that a node comes from: the module of the network and the line of its
// code, as PyTorch writes them into the metadata of nodes. Knows the keys; computes no graphs.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct SourcePlace {
    std::string module; ///< "layers.0.attention"; empty: not said
    std::string line;   ///< "model.py:123"; empty: not said

    bool empty() const { return module.empty() && line.empty(); }
};

/// Empty where the metadata says nothing that is known here.
SourcePlace sourcePlace(const Metadata& metadata);

/// "layers.0.attention, model.py:123"; of a fused node those of the nodes in its body, each once.
std::vector<std::string> sourcePlaces(const Node& node);

} // namespace fuselage::app
