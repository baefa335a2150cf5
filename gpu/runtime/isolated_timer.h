// SPDX-License-Identifier: Apache-2.0
// One step by itself: cold (the L2 cache was overwritten right before) and warm.
#pragma once

#include "core/plan/backend.h"
#include "gpu/runtime/device.h"

#include <functional>

namespace fuselage::gpu {

/// `enqueue` adds the step's launches to the stream; they are captured, several runs a graph, so
/// that launching costs the host's time and not the device's.
Result<IsolatedTimes> timeIsolated(Device& device, Stream& stream, uint32_t rounds,
                                   const std::function<Result<void>()>& enqueue);

} // namespace fuselage::gpu
