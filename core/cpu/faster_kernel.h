// SPDX-License-Identifier: Apache-2.0
// Chooses between two ways to compute one program by measuring both while preparing: on memory of
// their own, by the processor time of one thread, so that a busy machine chooses like an idle one.
// The first way wins unless the second is clearly faster.
#pragma once

#include "core/cpu/kernel.h"

#include <functional>

namespace fuselage::cpu {

struct Way {
    const char* name;
    std::function<KernelResult(const PrepareContext&)> prepare;
};

/// `key` says what the times depend on: equal keys in one executable are measured once. A way that
/// cannot be prepared loses; the error is the first way's.
KernelResult prepareFaster(const std::string& key, const Way& first, const Way& second,
                           const PrepareContext& context);

} // namespace fuselage::cpu
