// SPDX-License-Identifier: Apache-2.0
// How much memory there is. Sizes come from model files, so what asks for a lot asks here first:
// an allocation that fails, or that the system ends the process for, is no answer.
#pragma once

#include <cstdint>

namespace fuselage {

/// Bytes of this machine's memory, less where the process or its control group has a limit of its
/// own; at least 1.
int64_t machineMemory();

/// Bytes that this process can still ask for: what the system says, and of machineMemory() what is
/// not held. Reads files of the system: for large requests.
int64_t freeMemory();

/// Memory that was asked for and may not have been touched, which the system does not count yet.
class HeldMemory {
public:
    explicit HeldMemory(int64_t bytes);
    ~HeldMemory();
    HeldMemory(HeldMemory&& other) noexcept : m_bytes(other.m_bytes) { other.m_bytes = 0; }
    HeldMemory& operator=(HeldMemory&& other) = delete;

private:
    int64_t m_bytes;
};

/// True when `bytes` can be asked for without using up the machine.
bool fitsInMemory(int64_t bytes);

} // namespace fuselage
