// SPDX-License-Identifier: Apache-2.0
// The fields in JSON of what a plan decided by price: parts of fused nodes, sweeps, work that is
// done again, orders of memory, shared launches. As in json_fields_internal.h, which has the rest.
#pragma once

#include "app/pipeline/report.h"
#include "app/report/json_archive_internal.h"

namespace fuselage::app {

template <typename A> void fields(A& a, SplitReport& split) {
    a("node", split.node);
    a("rule", split.rule);
    a("parts", split.parts);
    a("cut", split.isCut);
    a("reason", split.reason);
    a("nodes_of_parts", split.cut);
    a.micros("parts_us", split.secondsInParts);
    a.micros("one_us", split.secondsInOne);
}

template <typename A> void fields(A& a, SweepReport& sweep) {
    a("first", sweep.first);
    a("last", sweep.last);
    a("images", sweep.images);
    a("passes", sweep.passes);
    a("taken", sweep.taken);
    a("reason", sweep.reason);
}

template <typename A> void fields(A& a, RecomputeReport& recompute) {
    a("node", recompute.node);
    a("nodes", recompute.nodes);
    a("readers", recompute.readers);
    a("bytes_saved", recompute.bytesSaved);
    a("taken", recompute.taken);
    a("reason", recompute.reason);
}

template <typename A> void fields(A& a, LayoutReport& layout) {
    a("values", layout.values);
    a("order", layout.order);
    a("rejected", layout.rejected);
    a("reason", layout.reason);
}

template <typename A> void fields(A& a, GroupReport& group) {
    a("members", group.members);
    a("taken", group.taken);
    a("reason", group.reason);
}

} // namespace fuselage::app
