// SPDX-License-Identifier: Apache-2.0
// The last resort for a step: its operands are copied to the host, the reference functions compute
// it, the results are copied back. Cannot be captured, so it parts the plan into segments.
#pragma once

#include "core/plan/plan.h"
#include "core/support/parallel.h"
#include "gpu/emit/tactic.h"
#include "gpu/runtime/stream.h"

#include <memory>

namespace fuselage::gpu {

/// One candidate for every program that has a body. `threads` serves the reference functions.
std::unique_ptr<TacticSource> makeHostSource(std::shared_ptr<ThreadPool> threads);

/// Writes a dense tensor to a value's elements on the device and leaves what lies between them;
/// waits for the stream.
Result<void> writeStrided(const PlanValue& value, const Tensor& tensor, DevicePointer to,
                          Stream& stream);

} // namespace fuselage::gpu
