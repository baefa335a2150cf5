// SPDX-License-Identifier: Apache-2.0
// What is asked of everything that can compute one kernel program on a CUDA device, our kernels and
// NVIDIA's libraries alike, and how a kernel answers.
#pragma once

#include "core/cost/cost.h"
#include "core/support/reason.h"
#include "gpu/emit/kernel_text.h"

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

/// One kernel program with everything that may decide how it is computed.
struct KernelRequest {
    const KernelProgram* program = nullptr;
    std::vector<OperandLayout> inputs, outputs;
    /// Parallel to inputs (or empty: none); null: no constant. Their contents decide a kernel's
    /// shape and are folded into tables (foldConstants); weights stay arguments, packed where that
    /// helps.
    std::vector<TensorPtr> constants;
    const DeviceProfile* profile = nullptr; ///< multiprocessors, shared memory: grid and tile sizes
    NumericClass allowed = NumericClass::Reassociated;
    bool tf32 = false;       ///< float32 contractions may round their operands to TF32
    bool strict = false;     ///< round to the edge's dtype at every inner edge, no contraction (N0)
    uint32_t capability = 0; ///< 75, 80, 90 ...; 0: only text that compiles for all of them
    int64_t workspaceLimit = 0; ///< bytes that a library's call may ask for

    /// The constant that an input is; null: it is none.
    TensorPtr constant(size_t input) const {
        return input < constants.size() ? constants[input] : nullptr;
    }
};

using EmitResult = std::variant<KernelSet, Reason>;

} // namespace fuselage::gpu
