// SPDX-License-Identifier: Apache-2.0
// A graph as plain data for people and drawings: names, types as text, wiring by index. Part of the
// Report; holds no weights and nothing of the engine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fuselage::app {

struct GraphValueReport {
    std::string name;
    std::string type;    ///< "float[1,64,56,56]"
    std::string dtype;   ///< "float"
    std::string literal; ///< of a constant with one element: "0.125"
    int64_t bytes = -1;  ///< -1: not known
    bool constant = false;
};

struct GraphNodeReport {
    static constexpr uint32_t omitted = 0xffffffffU; ///< among inputs and outputs

    std::string name;
    std::string op; ///< "Conv"; of a fused node the rule's name
    bool fused = false;
    std::string rule, file;                ///< of a node that a rule made, else empty
    uint32_t line = 0;                     ///< of the rule
    std::vector<std::string> sources;      ///< nodes of the model that it stands for; empty: itself
    std::vector<uint32_t> inputs, outputs; ///< positions in GraphReport::values
    std::vector<std::pair<std::string, std::string>> attributes; ///< those without their default
    std::vector<std::string> origins; ///< "layers.0.attention, model.py:123", as the exporter says
    std::string notComputed;          ///< why the node is kept as it is; empty: it is not
    std::string inside; ///< of a node in the body of a fused node that withBodies opened: its name
};

struct GraphReport {
    std::string name;
    /// Producers first; with those inside of If, Loop and Scan, whose names are paths.
    std::vector<GraphNodeReport> nodes;
    std::vector<GraphValueReport> values;
    std::vector<uint32_t> inputs, outputs; ///< positions in `values`

    bool empty() const { return nodes.empty(); }
};

} // namespace fuselage::app
