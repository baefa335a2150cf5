// SPDX-License-Identifier: Apache-2.0
// Operators that are known by name only; see pending_ops.cpp.
#pragma once

#include "core/graph/op.h"

#include <span>

namespace fuselage {

struct PendingOp {
    Op op;
    const char* name;
    const char* domain = "";
};

std::span<const PendingOp> pendingOps();

} // namespace fuselage
