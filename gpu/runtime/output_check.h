// SPDX-License-Identifier: Apache-2.0
// Compares what two tactics wrote for one operand, on the device and over all elements. Outputs lie
// in memory that was filled with a pattern, with a margin on both sides, so that an element that
// was never written, or one that is not the operand's, is found too. Chooses no tolerance.
#pragma once

#include "core/graph/dtype.h"
#include "gpu/emit/emit.h"
#include "gpu/runtime/check_tolerance.h"
#include "gpu/runtime/cubin_cache.h"
#include "gpu/runtime/device.h"

#include <map>
#include <memory>
#include <string>

namespace fuselage::gpu {

/// Memory of one output with its margins.
struct GuardedOutput {
    /// Elements on either side that are not the operand's.
    static int64_t marginOf(DType dtype);

    OperandLayout layout;
    DeviceMemory memory;

    /// Of the first element.
    DevicePointer address() const;
    int64_t span() const; ///< elements from the first to one past the last
};

Result<GuardedOutput> guardedOutput(const Device& device, const OperandLayout& layout);

/// Of two runs that are compared, so that what neither wrote differs.
enum class PoisonSide : uint8_t { Checked, Judge };

/// Fills the operand and its margins.
Result<void> poison(Stream& stream, const GuardedOutput& output, PoisonSide side);

/// The kernel that compares outputs of this type; "joinComparisons" in the same text joins what its
/// threads found.
KernelText comparisonText(DType dtype);

class OutputCheck {
public:
    OutputCheck(Device& device, std::shared_ptr<CubinCache> compiler)
        : m_device(device), m_compiler(std::move(compiler)) {}

    /// Makes the kernel for outputs of this type. Errors "nvrtc.*", "device.*".
    Result<void> prepare(DType dtype);

    /// The largest finite magnitude of what a judge wrote. Error "wrong-result": elements of it
    /// were never written, or others were.
    Result<double> magnitude(Stream& stream, const GuardedOutput& judge);

    /// How the checked output differs from the judge's by more than is allowed: a sentence, empty
    /// when it does not.
    Result<std::string> difference(Stream& stream, const GuardedOutput& checked,
                                   const GuardedOutput& judge, double magnitude,
                                   const OutputTolerance& tolerance);

private:
    struct Kernels {
        std::shared_ptr<const Module> module;
        LoadedKernel compare, join;
    };

    struct Figures;

    Result<const Kernels*> kernels(DType dtype);
    Result<Figures> compare(Stream& stream, const GuardedOutput& have, const GuardedOutput& want,
                            PoisonSide side, double allowed);

    Device& m_device;
    std::shared_ptr<CubinCache> m_compiler;
    std::map<DType, Kernels> m_kernels;
    DeviceMemory m_partial, m_joined;
};

} // namespace fuselage::gpu
