// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/tactic_key.h"

#include "core/graph/text.h"
#include "core/support/hash.h"
#include "core/support/text.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

/// The readable prefix names the operands; the hash knows the rest.
constexpr size_t longestStep = 160;

/// What program.h's text leaves to the body: the attributes of library routines.
void addRoutines(const KernelProgram& program, Hasher& hasher) {
    if (const auto* group = std::get_if<Group>(&program.code))
        for (const KernelProgram& member : group->members)
            addRoutines(member, hasher);
    const auto* library = std::get_if<Library>(&program.code);
    if (!library)
        return;
    const Node& node = program.body->node(library->node);
    hasher.text(opText(node));
    for (const Attributes::Entry& entry : node.attributes)
        hasher.text(entry.name).text(text(entry.value));
}

void addLayouts(const std::vector<OperandLayout>& layouts, Hasher& hasher) {
    hasher.number(layouts.size());
    for (const OperandLayout& layout : layouts) {
        hasher.number(layout.dtype).number(layout.alignment);
        for (const Extents* extents : {&layout.extents, &layout.strides}) {
            hasher.number(extents->size());
            for (int64_t extent : *extents)
                hasher.number(extent);
        }
    }
}

/// The figures of a profile that kernels are shaped by. Bandwidths are none: calibrating a device
/// must not make its measurements unknown.
void addProfile(const DeviceProfile* profile, Hasher& hasher) {
    if (!profile)
        return;
    for (double figure : {profile->units, profile->sharedBytesPerUnit, profile->registersPerUnit,
                          profile->threadsPerUnit, profile->l2Bytes})
        hasher.number(figure);
}

/// Sizes and scales that shape a kernel. Larger contents are weights: arguments, whatever they
/// hold.
void addContents(const std::vector<TensorPtr>& contents, Hasher& hasher) {
    constexpr int64_t most = 16;
    hasher.number(contents.size());
    for (const TensorPtr& tensor : contents) {
        const bool small = tensor && tensor->elementCount() <= most && tensor->bytes();
        hasher.number(tensor != nullptr).number(small);
        if (small)
            hasher.number(tensor->dtype()).bytes(tensor->bytes(), tensor->byteCount());
    }
}

std::string stepText(const KernelRequest& request) {
    const KernelProgram& program = *request.program;
    auto types = [](const std::vector<OperandType>& operands) {
        return joined(operands, [](const OperandType& operand) {
            return nameOf(operand.dtype) + text(operand.extents);
        });
    };
    std::string out = fmt::format("{} ({}) => ({})", nameOf(kindOf(program)), types(program.inputs),
                                  types(program.outputs));
    if (out.size() > longestStep)
        out = out.substr(0, longestStep - 3) + "...";
    out += fmt::format(" {} workspace {}", nameOf(request.allowed), request.workspaceLimit);
    if (request.strict)
        out += " strict";
    if (request.tf32)
        out += " tf32";
    return out;
}

std::string softwareText(const TuneEnvironment& environment) {
    std::string out;
    for (const auto& [name, version] : environment.versions)
        out += name + " " + (version.empty() ? "missing" : version) + ", ";
    return out + "emitter " + environment.emitter;
}

} // namespace

std::string TacticKey::text() const {
    return step + " | " + device + " | " + software + " | " + hash;
}

TacticKey tacticKey(const KernelRequest& request, const TuneEnvironment& environment, bool inPlace,
                    bool coldWeights) {
    TacticKey out;
    out.step =
        stepText(request) + (inPlace ? " in place" : "") + (coldWeights ? " cold weights" : "");
    out.device = fmt::format("{}, {} multiprocessors, clock {}", environment.device,
                             environment.multiprocessors, environment.clockPolicy);
    out.software = softwareText(environment);
    Hasher hasher;
    hasher.text(out.step).text(out.device).text(out.software);
    hasher.text(text(*request.program));
    addRoutines(*request.program, hasher);
    addLayouts(request.inputs, hasher);
    addLayouts(request.outputs, hasher);
    addProfile(request.profile, hasher);
    addContents(request.constants, hasher);
    hasher.number(request.capability);
    out.hash = hasher.hex();
    return out;
}

} // namespace fuselage::gpu
