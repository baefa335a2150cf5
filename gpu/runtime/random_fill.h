// SPDX-License-Identifier: Apache-2.0
// Data for measurements: never zeros, which make a device draw less power and run faster.
#pragma once

#include "core/graph/dtype.h"
#include "gpu/runtime/stream.h"

#include <string>

namespace fuselage::gpu {

/// `count` numbers between -1 and 1 in steps of 1/1024 as the type stores them (integers: 0 and 1),
/// from a seed; the same on every machine.
std::string randomBytes(DType dtype, size_t count, uint64_t seed);

/// Fills device memory with them, repeated; waits for the stream.
Result<void> fillRandom(Stream& stream, DevicePointer at, DType dtype, int64_t bytes);

} // namespace fuselage::gpu
