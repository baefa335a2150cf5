// SPDX-License-Identifier: Apache-2.0
// How much memory there is. Sizes come from model files, so what asks for a lot asks here first:
// an allocation that fails, or that the system ends the process for, is no answer.
#pragma once

#include <cstdint>

namespace fuselage {

/// Bytes of this machine's memory, less where the process has a limit of its own; at least 1.
int64_t machineMemory();

/// True when `bytes` can be asked for without using up the machine.
inline bool fitsInMemory(int64_t bytes) {
    return bytes <= machineMemory();
}

} // namespace fuselage
