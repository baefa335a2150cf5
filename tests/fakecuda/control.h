// SPDX-License-Identifier: Apache-2.0
// What a test asks of the stand-in driver: failures to come, what is alive. Found with dlsym in the
// library that the loader opened.
#pragma once

#include <cstddef>
#include <cstdint>

struct FakeCudaCounts {
    size_t allocations = 0, streams = 0;
    uint64_t launches = 0, graphLaunches = 0, moduleLoads = 0;
    int primaryContexts = 0;
    uint64_t fills = 0;         ///< memory set to a byte, captured or not
    uint64_t earlyLaunches = 0; ///< of `launches`, those that could start before the kernel before
    uint64_t clusterLaunches = 0; ///< of `launches`, those in clusters of several blocks
};

extern "C" {
/// The call of that name gives `code` from now on, after `skip` more that succeed.
void fakecudaFail(const char* call, int code, int skip);
/// Kernels with that piece in their names do something else: 1 gives one wrong element, 2 leaves
/// one unwritten, 3 takes the device along, 4 never ends, 5 kills the process, 6 is 1 where the
/// result lies on an operand, 7 is 1 and 8 is 3 where the kernel is launched early.
void fakecudaSpoil(const char* kernel, int how);
/// No more failures; a kernel's fault is forgotten (a real context would be lost).
void fakecudaReset();
void fakecudaCounts(FakeCudaCounts* out);
/// What the last kernel that failed did.
const char* fakecudaMessage();
/// Called after each kernel with nanoseconds and the id of its graph node (0: not of a graph).
void fakecudaObserve(void (*observer)(const char* name, uint64_t begin, uint64_t end,
                                      uint64_t node));
}
