// SPDX-License-Identifier: Apache-2.0
#include "core/ops/own_operators.h"

#include "core/ops/gather_matmul.h"
#include "core/ops/linear_recurrence.h"

namespace fuselage {

std::shared_ptr<const Graph> writtenOut(const Graph& graph, const Node& node, bool few) {
    return node.op == Op::LinearRecurrence ? linearRecurrenceBody(graph, node)
                                           : gatherMatMulBody(graph, node, few);
}

bool asksForFew(const Graph& graph, const Node& node) {
    return node.op == Op::GatherMatMul && choosesFew(graph, node);
}

} // namespace fuselage
