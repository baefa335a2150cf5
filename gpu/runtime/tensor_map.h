// SPDX-License-Identifier: Apache-2.0
// A kernel's tensor map for the address that its operand has at a launch. The driver makes it, no
// memory of the device is touched: it may be made while a stream is captured.
#pragma once

#include "gpu/emit/kernel_text.h"
#include "gpu/runtime/stream.h"

namespace fuselage::gpu {

/// Errors: "library-missing" (the driver has no cuTensorMapEncodeTiled, or for a map of im2col mode
/// no cuTensorMapEncodeIm2col), "device.call" (it refuses).
Result<TensorMapValue> tensorMapOf(const DeviceContext& context, const TensorMapText& map,
                                   DevicePointer address);

/// The first of these alone.
Result<void> requireTensorMap(const DeviceContext& context, const TensorMapText& map);

} // namespace fuselage::gpu
