// SPDX-License-Identifier: Apache-2.0
// What computes the sums of products of a Contraction: a oneDNN primitive with as many steps of the
// epilogue as it takes. contraction.cpp puts the rest around it.
#pragma once

#include "core/cpu/kernel.h"
#include "core/kernel/epilogue_match.h"

#include <memory>
#include <variant>

namespace fuselage::cpu {

class ContractionEngine {
public:
    struct Arguments {
        const std::byte* a = nullptr; ///< first element of the operand
        const std::byte* b = nullptr;
        std::byte* c = nullptr;
        /// Per epilogue read: the operand's memory at the access's first element.
        std::vector<const std::byte*> reads;
    };

    virtual ~ContractionEngine() = default;
    virtual void run(const Arguments& arguments, std::byte* scratch) = 0;
    /// True when every operand but a and c is constant and none is reordered.
    virtual bool isShareable() const = 0;
    /// run() by several workers at once, each with its own scratch. Needs isShareable().
    virtual void runShared(const std::byte* a, std::byte* c, std::byte* scratch) const = 0;

    size_t scratchBytes = 0;
    std::string implementation;
    bool slow = false; ///< an implementation that is many times slower than the usual ones
    /// Whether copies of the operands that lie matrix after matrix are likely to be multiplied
    /// faster, copying included.
    bool wantsPacked = false;
    std::optional<uint32_t> sumRead; ///< an epilogue read that must be in c before
};

using EngineResult = std::variant<std::unique_ptr<ContractionEngine>, Reason>;

/// Whether this processor multiplies operands of the type without widening them in memory, with
/// sums in float32.
bool multipliesNatively(DType type);

/// Where the result goes: its strides over the program's space, and float32, or bfloat16 where the
/// operands are.
struct EngineTarget {
    StridedAccess at;
    DType dtype = DType::Float32;
};

/// Packed weights go to `pages`. Operands are both float32, or both of a type that this processor
/// multipliesNatively(). Reasons: layout, support (with oneDNN's words).
EngineResult makeMatMulEngine(const Contraction& program, const OperandLayout& a,
                              const OperandLayout& b, const EngineTarget& c,
                              const MatchedEpilogue& epilogue, Pages& pages);
EngineResult makeConvolutionEngine(const Contraction& program, const OperandLayout& x,
                                   const OperandLayout& w, const EngineTarget& c,
                                   const MatchedEpilogue& epilogue, Pages& pages);

} // namespace fuselage::cpu
