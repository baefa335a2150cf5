// SPDX-License-Identifier: Apache-2.0
// A program's kernels run as host code: seeded data, guarded memory in the layouts of the request,
// one launch after another, the results against those of the program's evaluation. Fails the
// running GoogleTest. Used by the suite and by the programs of the zoo.
#pragma once

#include "core/ops/reference_value.h"
#include "gpu/emit/emit.h"
#include "tests/shim/simt_launch.h"

#include <vector>

namespace fuselage::gpu_suite {

class Random {
public:
    uint32_t next() { return (m_state = m_state * 1664525U + 1013904223U) >> 8; }

private:
    uint32_t m_state = 2463534242U;
};

/// Numbers between -2 and 2, integers between -10 and 10; `special`: also NaN, infinities, zeros.
ReferenceValue dataFor(const OperandType& type, bool special, Random& random);

/// The device's memory for one request: inputs, then outputs.
struct Arena {
    std::vector<simt::GuardedMemory> inputs, outputs;
    std::vector<simt::GuardedMemory> packed, scratch, tables; ///< of the set that runs
};

Arena arenaFor(const gpu::KernelRequest& request, const std::vector<ReferenceValue>& values);

/// Weights as the set wants them, its tables and its scratch memory.
void addNeeds(Arena& arena, const gpu::KernelSet& set, const std::vector<ReferenceValue>& values);

/// Launches the kernels of a set; all must be in the linked suite.
void launchAll(const gpu::KernelSet& set, const Arena& arena, bool earlyCopies = false);

/// An element as a double.
double loadFloat(const std::byte* at, DType type);

/// Runs a set on fresh memory and compares; with asynchronous copies in both orders.
void runSet(const gpu::KernelRequest& request, const gpu::KernelSet& set,
            const std::vector<ReferenceValue>& inputs, const std::vector<ReferenceValue>& wanted);

/// Outputs of the program, or of the members of a group one after the other.
std::vector<ReferenceValue> wantedFor(const KernelProgram& program,
                                      const std::vector<ReferenceValue>& inputs);

} // namespace fuselage::gpu_suite
