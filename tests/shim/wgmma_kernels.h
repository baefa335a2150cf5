// SPDX-License-Identifier: Apache-2.0
// The kernel of the tests of warpgroups' products: steps that may be left out.
#pragma once

namespace wgmma {

struct Steps {
    bool weighted = false; ///< A from registers, a row of B a step along k
    bool bytes = false;    ///< in place of 16 bits, and which of them are signed:
    bool signedA = true;
    bool signedB = true;
    bool fence = true;    ///< of what was written, for the product
    bool barrier = true;  ///< after it
    bool open = true;     ///< wgmma.fence
    bool wait = true;     ///< for the sums
    bool together = true; ///< all threads name the same rows
    bool kept = true;     ///< registers of A until the wait
    bool anew = true;     ///< the first product does not add to what the sums were
};

/// Elements of A (row, k) and B (k, column).
inline int a(int row, int k) {
    return (row * 7 + k * 3) % 11 - 5;
}

inline int b(int k, int column) {
    return (column * 5 + k) % 7 - 3;
}

/// arguments: Steps, then 33 floats a thread: its 32 sums, and the bits that it saw of the first
/// before the wait. Blocks of 128 threads, 16 KiB of shared memory.
void product(void* const* arguments);

} // namespace wgmma
