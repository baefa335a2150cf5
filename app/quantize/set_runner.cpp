// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/set_runner.h"

#include "core/passes/dimensions.h"

namespace fuselage::quantize {

Result<std::vector<Tensor>> SetRunner::run(const std::vector<Tensor>& inputs, Progress& progress) {
    std::vector<Extents> shapes;
    for (const Tensor& input : inputs)
        shapes.push_back(input.extents());
    if (!m_compiled || shapes != m_shapes) {
        m_compiled.reset();
        Graph bound = m_graph.clone();
        std::vector<std::string> notes;
        if (auto fits = bindToInputs(bound, inputs, {}, notes); !fits)
            return failure(fits.error());
        auto compiled = CompiledGraph::compile(std::move(bound), m_options, progress);
        if (!compiled)
            return failure(compiled.error());
        m_compiled.emplace(std::move(*compiled));
        m_shapes = std::move(shapes);
    }
    return m_compiled->executable().outputs(inputs, progress);
}

} // namespace fuselage::quantize
