// SPDX-License-Identifier: Apache-2.0
// Provenance of nodes that rules made, kept in the node's doc_string so that a saved model can be
// explained after it is loaded again.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <vector>

namespace fuselage::model_io {

/// What a fused node's doc_string also keeps: the names and metadata inside its body, whose
/// function is shared.
struct BodyNames {
    std::vector<std::string> nodes;  ///< in the function's order
    std::vector<std::string> values; ///< inputs, then outputs of the nodes in order
    std::vector<Metadata> nodeMetadata, valueMetadata; ///< parallel to these

    void addNode(std::string name, Metadata metadata) {
        nodes.push_back(std::move(name));
        nodeMetadata.push_back(std::move(metadata));
    }

    void addValue(std::string name, Metadata metadata) {
        values.push_back(std::move(name));
        valueMetadata.push_back(std::move(metadata));
    }
};

/// Whether a call's text is documentationFor's.
bool isDocumented(const std::string& documentation);

/// Empty when the text is no provenance; never fails.
Provenance provenanceFrom(const std::string& documentation);
BodyNames bodyNamesFrom(const std::string& documentation);

/// "" for an empty provenance without names.
std::string documentationFor(const Provenance& provenance, const BodyNames& names = {});

} // namespace fuselage::model_io
