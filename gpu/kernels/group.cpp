// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/group.h"

#include "gpu/kernels/copy.h"
#include "gpu/kernels/pointwise.h"
#include "gpu/kernels/row.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

/// Members number their operands on their own; a group's are those of its members one after the
/// other, so each member is renumbered.
struct Renumber {
    uint32_t inputs, outputs;

    void read(Access& access) const { access.operand += inputs; }

    void write(Access& access) const { access.operand += outputs; }

    void operator()(Pointwise& code) const {
        for (Access& access : code.reads)
            read(access);
        for (Access& access : code.writes)
            write(access);
    }

    void operator()(Row& code) const {
        for (Access& access : code.reads)
            read(access);
        for (auto* writes : {&code.elementWrites, &code.rowWrites})
            for (Access& access : *writes)
                write(access);
    }

    void operator()(Copy& code) const {
        for (Copy::Piece& piece : code.pieces) {
            if (piece.read)
                read(*piece.read);
            write(piece.write);
        }
    }

    template <typename Other> void operator()(Other&) const {} // refused by partsOf
};

/// Parts of one member, all of `defaultThreads` threads.
std::variant<std::vector<KernelPart>, Reason> partsOf(const KernelRequest& request) {
    const KernelProgram& program = *request.program;
    if (const auto* code = std::get_if<Pointwise>(&program.code)) {
        const PointwiseSpec spec = pointwiseSpec(request, *code);
        PartResult part = vectorPart(spec, request.profile);
        if (auto* made = std::get_if<KernelPart>(&part))
            return std::vector<KernelPart>{std::move(*made)};
        return std::vector<KernelPart>{plainPart(spec)};
    }
    if (const auto* code = std::get_if<Copy>(&program.code)) {
        bool any = false;
        return copyParts(request, *code, any);
    }
    if (std::holds_alternative<Row>(program.code)) {
        PartResult part = rowPartForGroup(request);
        if (auto* reason = std::get_if<Reason>(&part))
            return *reason;
        return std::vector<KernelPart>{std::move(std::get<KernelPart>(part))};
    }
    return refusal("kind",
                   fmt::format("a {} program is no member of a group", nameOf(kindOf(program))));
}

} // namespace

EmitResult emitGroup(const KernelRequest& request) {
    if (auto reason = refuseTypes(request))
        return finish("group", request, PartResult(*reason));
    std::vector<KernelPart> parts;
    Renumber renumber{0, 0};
    for (const KernelProgram& original : std::get<Group>(request.program->code).members) {
        KernelProgram member = original;
        std::visit(renumber, member.code);
        KernelRequest of = request;
        of.program = &member;
        auto made = partsOf(of);
        if (auto* reason = std::get_if<Reason>(&made))
            return finish("group", request, PartResult(*reason));
        for (KernelPart& part : std::get<0>(made))
            parts.push_back(std::move(part));
        renumber.inputs += static_cast<uint32_t>(original.inputs.size());
        renumber.outputs += static_cast<uint32_t>(original.outputs.size());
    }
    return finish("group", request, std::move(parts));
}

} // namespace fuselage::gpu
