// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/prepare_kernel.h"

#include "core/cpu/attention.h"
#include "core/cpu/contraction.h"
#include "core/cpu/group.h"
#include "core/cpu/library.h"
#include "core/cpu/tile_code.h"
#include "core/cpu/tile_copy.h"
#include "core/cpu/tile_pointwise.h"
#include "core/cpu/tile_row.h"
#include "core/cpu/window.h"
#include "core/plan/step_work.h"

namespace fuselage::cpu {

namespace {

struct UnsupportedVisitor {
    const KernelProgram& program;

    std::optional<Reason> operator()(const Pointwise& p) const {
        return TileCode::unsupported(p.tape);
    }

    std::optional<Reason> operator()(const Contraction& p) const {
        for (const auto* prologue : {&p.prologueA, &p.prologueB})
            if (*prologue)
                if (auto reason = TileCode::unsupported((*prologue)->tape))
                    return reason;
        return TileCode::unsupported(p.epilogue.tape);
    }

    std::optional<Reason> operator()(const Row& p) const { return unsupportedRow(p); }

    std::optional<Reason> operator()(const Attention&) const {
        return unsupportedAttention(program);
    }

    std::optional<Reason> operator()(const Window& p) const { return unsupportedWindow(p); }

    std::optional<Reason> operator()(const Copy&) const { return std::nullopt; }

    std::optional<Reason> operator()(const Group& p) const { return unsupportedGroup(p); }

    std::optional<Reason> operator()(const Library& p) const {
        return unsupportedLibrary(p, program);
    }

    /// A library's two products are as fast: caches hold what is between them.
    std::optional<Reason> operator()(const Chain&) const {
        return Reason{"kind", "a chain of products has no kernel on a processor", {}, {}};
    }
};

struct PrepareVisitor {
    const KernelProgram& program;
    const PrepareContext& context;

    KernelResult operator()(const Library& p) const { return prepareLibrary(p, program, context); }

    KernelResult operator()(const Pointwise& p) const { return preparePointwise(p, context); }

    KernelResult operator()(const Contraction& p) const { return prepareContraction(p, context); }

    KernelResult operator()(const Row& p) const { return prepareRow(p, context); }

    KernelResult operator()(const Attention& p) const { return prepareAttention(p, context); }

    KernelResult operator()(const Window& p) const { return prepareWindow(p, context); }

    KernelResult operator()(const Copy& p) const { return prepareCopy(p, context); }

    KernelResult operator()(const Group& p) const { return prepareGroup(p, context); }

    KernelResult operator()(const Chain&) const {
        return failure("cpu.kind", "a chain of products has no kernel on a processor");
    }
};

/// Of a step whose results have no elements, such as a product of no rows.
class NothingToCompute final : public Kernel {
public:
    NothingToCompute() { tactic = "nothing to compute"; }

    void run(const Operands&, RunContext& context) override { context.counted = true; }
};

} // namespace

std::optional<Reason> unsupported(const KernelProgram& program) {
    for (const auto* operands : {&program.inputs, &program.outputs})
        for (const OperandType& operand : *operands)
            if (sizeOf(operand.dtype) == 0)
                return Reason{"dtype",
                              std::string("no kernels for ") + nameOf(operand.dtype) + " tensors",
                              {},
                              {}};
    return std::visit(UnsupportedVisitor{program}, program.code);
}

KernelResult prepareKernel(const KernelProgram& program, const PrepareContext& context) {
    if (makesNothing(program))
        return std::unique_ptr<Kernel>(std::make_unique<NothingToCompute>());
    if (auto reason = unsupported(program))
        return failure("cpu." + reason->code, reason->message);
    return std::visit(PrepareVisitor{program, context}, program.code);
}

} // namespace fuselage::cpu
