// SPDX-License-Identifier: Apache-2.0
// What routines of single operators compute, in elements that the plainest of them makes (a copy by
// indices): about how many, from shapes and attributes alone.
#pragma once

#include "core/graph/graph.h"

namespace fuselage {

struct RoutineWork {
    double elements = 0;
    double products = 0; ///< multiply-adds of products of matrices, besides
};

/// Figures are of routines of the cpu backend, measured; unknown extents count as nothing.
RoutineWork routineWork(const Graph& graph, const Node& node);

} // namespace fuselage
