// SPDX-License-Identifier: Apache-2.0
// What the variants share: a KernelPart is the device code of one launch before it gets its
// __global__ function, so that a Group can join several; finish() turns parts into a KernelSet.
#pragma once

#include "gpu/emit/emit.h"
#include "gpu/emit/emit_access.h"
#include "gpu/emit/emit_tape.h"

#include <string>
#include <variant>
#include <vector>

namespace fuselage::gpu {

/// Threads of a block, where a variant has no reason for another number.
constexpr uint32_t defaultThreads = 256;

/// A pointer that a kernel takes beyond the program's operands.
struct ExtraParameter {
    std::string type; ///< "const Half*"
    std::string name; ///< "packed0"
    KernelArgument argument;
};

/// Device code for some blocks. In all text `@` stands for the kernel's name.
struct KernelPart {
    std::vector<std::string> comment; ///< lines: what a thread does, in which order it sums
    std::string functions;            ///< device functions called before the entry
    /// Statements of the entry; `block` is the number of the block within this part.
    std::string body;
    std::vector<std::string> helpers; ///< device texts beyond types and math, in order
    int64_t blocks = 0;
    uint32_t threads = defaultThreads;
    uint32_t clusterBlocks = 1; ///< see KernelText; of a kernel's only part
    uint32_t sharedBytes = 0;
    uint32_t residentBlocks = 0; ///< blocks on a multiprocessor that registers must leave room for;
                                 ///< 0: as many as make 512 threads
    std::vector<ExtraParameter> extra;
    std::vector<TensorMapText> maps; ///< "map0" ... in the text; of a kernel's only part
    bool ownArch = false;            ///< see KernelText
    NumericClass numeric = NumericClass::Exact;
    MemoryAsked memory = {}; ///< where it depends on how operands lie
};

using PartResult = std::variant<KernelPart, Reason>;

/// One kernel from one part (several: by block ranges, all with the same number of threads).
EmitResult finish(const char* variant, const KernelRequest& request, std::vector<KernelPart> parts);

/// finish() of a single part, or its reason with the variant's name.
EmitResult finish(const char* variant, const KernelRequest& request, PartResult part);

/// What the kernels of a set need beside the operands.
struct SetNeeds {
    std::vector<PackedOperand> packed;
    int64_t scratchBytes = 0;
    std::vector<std::string> tables = {}; ///< bytes
    int64_t tickets = 0;                  ///< words, see KernelSet
};

/// One kernel a part, launched in order.
EmitResult finishInOrder(const char* variant, const KernelRequest& request,
                         std::vector<KernelPart> launches, SetNeeds needs);

/// "const Half* __restrict__ in0, float* __restrict__ out0", or only the names; then the extra
/// ones.
std::string parameterList(const KernelRequest& request, const std::vector<ExtraParameter>& extra,
                          bool types);

/// Reason of a variant that does not accept a request.
Reason refusal(const char* code, std::string message, std::vector<ReasonFact> facts = {});

/// Tolerance relative to the largest output, from the types that are stored.
double toleranceOf(const KernelProgram& program, NumericClass numeric);

/// Every tape output is stored in 16 bits, and narrow forms are allowed.
bool storesNarrow(const KernelRequest& request, const std::vector<KernelOperand>& writes);

/// A dtype that kernels can hold, for every operand.
std::optional<Reason> refuseTypes(const KernelRequest& request);

} // namespace fuselage::gpu
