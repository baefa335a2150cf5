// SPDX-License-Identifier: Apache-2.0
#include "tests/support/small_graph.h"

#include "app/pipeline/compiled.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <vector>

namespace fuselage::testing_support {

Graph smallGraph(const std::string& text) {
    Graph graph = *model_io::loadText("<ir_version: 8, opset_import: [\"\" : 17]> g " + text);
    inferShapes(graph);
    std::vector<std::string> weights;
    for (ValueId input : graph.inputs())
        if (graph.value(input).name[0] == 'w')
            weights.push_back(graph.value(input).name);
    for (const std::string& name : weights) {
        Tensor data(DType::Float32, *graph.value(graph.findValue(name)).type.extents());
        for (int64_t i = 0; i < data.elementCount(); ++i)
            data.set(i, static_cast<double>(i * 7919 % 2001) / 20000 - 0.05);
        (void)bindInput(graph, name, std::move(data));
    }
    return graph;
}

} // namespace fuselage::testing_support
