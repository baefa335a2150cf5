// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prepared.h"

#include "core/passes/passes.h"

namespace fuselage::app {

Result<Prepared> prepare(Graph graph, DimensionValues dims, Precision precision) {
    auto record = setPrecision(graph, precision);
    if (!record)
        return failure(record.error());
    return Prepared{std::make_shared<const Graph>(std::move(graph)), std::move(dims),
                    std::move(*record)};
}

Graph sized(Graph graph, const DimensionValues& dims) {
    bindAllDimensions(graph, dims);
    return graph;
}

Result<Graph> withSizes(Graph graph, const DimensionValues& dims, Progress& progress) {
    if (!dims.empty())
        bindAllDimensions(graph, dims);
    if (auto folded = prepareGraph(graph, progress); !folded)
        return failure(folded.error());
    return graph;
}

} // namespace fuselage::app
