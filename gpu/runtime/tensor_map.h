// SPDX-License-Identifier: Apache-2.0
// A kernel's tensor map for the address that its operand has at a launch. The driver makes it, no
// memory of the device is touched: it may be made while a stream is captured.
#pragma once

#include "gpu/emit/kernel_text.h"
#include "gpu/runtime/stream.h"

namespace fuselage::gpu {

/// Errors: "library-missing" (the driver has no cuTensorMapEncodeTiled), "device.call" (it
/// refuses).
Result<TensorMapValue> tensorMapOf(const DeviceContext& context, const TensorMapText& map,
                                   DevicePointer address);

/// The first of these alone.
Result<void> requireTensorMaps(const DeviceContext& context);

} // namespace fuselage::gpu
