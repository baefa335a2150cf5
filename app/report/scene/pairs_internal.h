// SPDX-License-Identifier: Apache-2.0
// Before the first phase of a scene: QuantizeLinear and DequantizeLinear that a badge on an edge
// can say are taken out of the graphs, and where their names are to be found is kept.
#pragma once

#include "app/report/scene/build.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace fuselage::scene {

struct FoldedPairs {
    /// A node that has no box, and the node or input whose box stands for it.
    struct Folded {
        std::string node, at;
        uint8_t side = Before;
    };

    app::GraphReport before, after;
    std::vector<Folded> folded;
    /// By storedKey(): what is written at the edge.
    std::unordered_map<std::string, std::string> stored;

    static std::string key(const std::string& reader, const std::string& value) {
        return reader + '\n' + value;
    }
};

/// Whether there is anything to fold.
bool hasPairs(const Input& input);

/// Every DequantizeLinear behind a constant or a QuantizeLinear goes, its readers read what is
/// stored; so does a QuantizeLinear that nothing else reads. Outputs of a graph keep their maker.
/// Edges that carry stored values are in `stored`, on both sides.
FoldedPairs foldPairs(const Input& input);

} // namespace fuselage::scene
