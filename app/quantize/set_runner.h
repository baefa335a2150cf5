// SPDX-License-Identifier: Apache-2.0
// One graph on one set of inputs after another, also where sets differ in shape.
#pragma once

#include "app/pipeline/compiled.h"

#include <optional>
#include <vector>

namespace fuselage::quantize {

class SetRunner {
public:
    /// `graph`: open dimensions allowed; the options say the backend.
    SetRunner(Graph graph, CompileOptions options)
        : m_graph(std::move(graph)), m_options(std::move(options)) {}

    /// Parallel to the graph's outputs. Compiles on the first call, and again when a shape is
    /// another than before. Errors: those of binding, compiling and running, "cancelled".
    Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, Progress& progress);

private:
    Graph m_graph;
    CompileOptions m_options;
    std::vector<Extents> m_shapes;
    std::optional<CompiledGraph> m_compiled;
};

} // namespace fuselage::quantize
