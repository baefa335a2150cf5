// SPDX-License-Identifier: Apache-2.0
// A program's kernels run as host code: seeded data, guarded memory in the layouts of the request,
// one launch after another, the results against those of the program's evaluation. Fails the
// running GoogleTest. Used by the suite and by the programs of the zoo.
#pragma once

#include "gpu/emit/emit.h"
#include "tests/shim/simt_launch.h"
#include "tests/shim/suite_data.h"

#include <vector>

namespace fuselage::gpu_suite {

/// The device's memory for one request: inputs, then outputs.
struct Arena {
    std::vector<simt::GuardedMemory> inputs, outputs;
    std::vector<simt::GuardedMemory> packed, scratch, tables, tickets; ///< of the set that runs
};

Arena arenaFor(const gpu::KernelRequest& request, const std::vector<ReferenceValue>& values);

/// Weights as the set wants them, its tables and its scratch memory.
void addNeeds(Arena& arena, const gpu::KernelSet& set, const std::vector<ReferenceValue>& values);

/// Launches the kernels of a set; all must be in the linked suite. `otherOrder`: asynchronous
/// copies are done early, blocks come in the other order.
void launchAll(const gpu::KernelSet& set, const Arena& arena, bool otherOrder = false);

/// An element as a double.
double loadFloat(const std::byte* at, DType type);

/// Runs a set on fresh memory and compares; with asynchronous copies in both orders.
void runSet(const gpu::KernelRequest& request, const gpu::KernelSet& set,
            const std::vector<ReferenceValue>& inputs, const std::vector<ReferenceValue>& wanted);

} // namespace fuselage::gpu_suite
