// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prepared.h"

#include "core/passes/passes.h"

namespace fuselage::app {

Result<Prepared> prepare(Graph graph, DimensionValues dims, const PrecisionChoice& choice) {
    auto record = setPrecision(graph, choice);
    if (!record)
        return failure(record.error());
    return Prepared{std::make_shared<const Graph>(std::move(graph)), std::move(dims),
                    std::move(*record)};
}

Result<Prepared> prepare(std::shared_ptr<const Graph> graph, DimensionValues dims,
                         const PrecisionChoice& choice) {
    if (changesGraphs(choice.precision))
        return prepare(graph->clone(), std::move(dims), choice);
    PrecisionRecord record = unchanged(*graph, choice.precision);
    return Prepared{std::move(graph), std::move(dims), std::move(record)};
}

Result<void> requireAllSaid(const Prepared& prepared) {
    if (!prepared.precision.refused.empty())
        return failure(prepared.precision.refused.front());
    return {};
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
