// SPDX-License-Identifier: Apache-2.0
// A program's kernels run as host code: seeded data, guarded memory in the layouts of the request,
// one launch after another, the results against those of the program's evaluation. Fails the
// running GoogleTest. Used by the suite and by the programs of the zoo.
#pragma once

#include "gpu/emit/emit.h"
#include "tests/shim/simt_launch.h"
#include "tests/shim/suite.h"
#include "tests/shim/suite_data.h"

#include <string>
#include <vector>

namespace fuselage::gpu_suite {

/// The device's memory for one request: inputs, then outputs.
struct Arena {
    std::vector<simt::GuardedMemory> inputs, outputs;
    std::vector<simt::GuardedMemory> packed, scratch, tables, tickets; ///< of the set that runs
    std::vector<bool> constant; ///< of the inputs: no kernel writes them
};

Arena arenaFor(const gpu::KernelRequest& request, const std::vector<ReferenceValue>& values);

/// Weights as the set wants them, its tables and its scratch memory.
void addNeeds(Arena& arena, const gpu::KernelSet& set, const std::vector<ReferenceValue>& values);

/// How the kernels of a set are launched.
struct LaunchOrder {
    bool other = false; ///< asynchronous copies are done early, blocks come in the other order
    /// Each kernel may start before the one before it has ended: what is no constant is closed to
    /// its threads until they have waited (simt::Launch::gate).
    bool early = false;
};

/// The suite's case of that name; without a program if there is none.
Prepared preparedNamed(const std::string& name);

/// Random numbers, the same at each call.
std::vector<ReferenceValue> inputsFor(const KernelProgram& program);

/// All must be in the linked suite.
void launchAll(const gpu::KernelSet& set, const Arena& arena, const LaunchOrder& order = {});

/// An element as a double.
double loadFloat(const std::byte* at, DType type);

/// Runs a set, launched early, on fresh memory and compares; with asynchronous copies in both
/// orders.
void runSet(const gpu::KernelRequest& request, const gpu::KernelSet& set,
            const std::vector<ReferenceValue>& inputs, const std::vector<ReferenceValue>& wanted);

/// What runSet() finds, all failures together, and fails nothing.
std::string failuresOf(const gpu::KernelRequest& request, const gpu::KernelSet& set,
                       const std::vector<ReferenceValue>& inputs,
                       const std::vector<ReferenceValue>& wanted);

} // namespace fuselage::gpu_suite
