// SPDX-License-Identifier: Apache-2.0
// What the cpu backend prepares for each step: a Kernel with all decisions made, run many times.
#pragma once

#include "core/cpu/threads.h"
#include "core/cpu/vector_table.h"
#include "core/kernel/epilogue_inputs.h"
#include "core/plan/kernel_facts.h"
#include "core/support/reason.h"
#include "core/support/result.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::cpu {

/// How an operand lies in memory.
struct OperandLayout {
    DType dtype = DType::Float32;
    Extents extents;
    Extents strides;    ///< elements
    TensorPtr constant; ///< the data when it never changes (row-major), else null

    /// Elements from the first to the last, both included.
    int64_t span() const;
    bool rowMajor() const;
};

/// Memory of one run, parallel to the program's operands; outputs may be an input's memory only
/// when the step says so.
struct Operands {
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
};

/// Bytes counted while running: distinct elements, once an operand.
struct CountedBytes {
    int64_t read = 0;
    int64_t written = 0;
};

struct RunContext {
    Threads& threads;
    CountedBytes* count = nullptr; ///< when set, kernels that can count do and set `counted`
    bool counted = false;
    std::optional<Error> error; ///< set by a kernel that met data it cannot use
};

class Kernel {
public:
    virtual ~Kernel() = default;
    /// Workers of a sweep run one kernel at the same time, each with threads of its own: kernels of
    /// programs that sliceImages() cuts keep nothing of a run in themselves.
    virtual void run(const Operands& operands, RunContext& context) = 0;

    std::string tactic;
    std::vector<Reason> fallbacks;
    HiddenWork hidden; ///< of one run
    /// How far its way of computing may be from the plain one, where that was not asked for.
    NumericClass numeric = NumericClass::Exact;
    bool isFallback = false; ///< plain or reference loops, many times slower than a kernel
};

class Choices;

/// What preparing a kernel may look at.
struct PrepareContext {
    std::vector<OperandLayout> inputs;
    std::vector<OperandLayout> outputs;
    const VectorTable& table;
    Threads& threads;
    /// How far results may be from those of the nodes one by one.
    NumericClass allowed = NumericClass::Reassociated;
    bool inPlace = false;       ///< output 0 reuses the memory of an input
    Choices* choices = nullptr; ///< for prepareFastest(); null: by prediction alone

    /// Every inner edge is rounded to its type.
    bool strict() const { return allowed == NumericClass::Exact; }

    std::vector<EpilogueInput> epilogueInputs(const Contraction& program) const;
};

using KernelResult = Result<std::unique_ptr<Kernel>>;

/// The access combined with the operand's strides.
StridedAccess stridedFor(const Access& access, const OperandLayout& layout, size_t dims);

} // namespace fuselage::cpu
