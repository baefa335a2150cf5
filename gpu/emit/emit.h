// SPDX-License-Identifier: Apache-2.0
// Kernel programs -> CUDA text. One row a variant; the tuner measures all that accept a program, a
// machine without a GPU compiles and runs them as host code. No variant knows a rule's name.
#pragma once

#include "core/cost/cost.h"
#include "core/support/reason.h"
#include "gpu/emit/kernel_text.h"

#include <span>
#include <variant>

namespace fuselage::gpu {

/// An operand as the kernel meets it: element type in memory and the plan's strides (elements, per
/// logical dimension).
struct OperandLayout {
    DType dtype = DType::Float32;
    Extents extents;
    Extents strides;
    int64_t alignment = 16; ///< bytes that the first element's address is a multiple of
};

struct EmitRequest {
    const KernelProgram* program = nullptr;
    std::vector<OperandLayout> inputs, outputs;
    /// Contents that are known beforehand, parallel to inputs (or empty); null: not known. Read for
    /// what decides a kernel's shape, and by foldConstants(): weights stay arguments.
    std::vector<TensorPtr> contents;
    const DeviceProfile* profile = nullptr; ///< multiprocessors, shared memory: grid and tile sizes
    NumericClass allowed = NumericClass::Reassociated;
    bool tf32 = false;   ///< float32 contractions may round their operands to TF32
    bool strict = false; ///< round to the edge's dtype at every inner edge, no contraction (N0)
    /// Parallel to inputs (empty: none): the operand is a constant, so it may be packed.
    std::vector<bool> constants;
    uint32_t capability = 0; ///< 75, 80, 90 ...; 0: only text that compiles for all of them
};

using EmitResult = std::variant<KernelSet, Reason>;

/// One way to compute one kind of program.
struct VariantRow {
    const char* name;    ///< "pointwise_vector", "row_warp", "depthwise_tiled"
    const char* program; ///< kindOf() of the programs it may accept
    EmitResult (*emit)(const EmitRequest&);
    const char* summary; ///< one line for reports
    bool plain = false;  ///< the always-correct one: others are compared with it
};

/// All variants; within one kind, the always-correct plain variant is last.
std::span<const VariantRow> kernelVariants();

/// Every variant that accepts the request, in table order, and why the others do not.
struct Candidates {
    std::vector<KernelSet> accepted;
    std::vector<Reason> refused; ///< facts name the variant
};

Candidates emitAll(const EmitRequest& request);

} // namespace fuselage::gpu
