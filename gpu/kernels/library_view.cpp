// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/library_view.h"

#include "core/graph/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace fuselage::gpu {

namespace {

const LibraryOperand omitted;

LibraryOperand operandOf(const Graph& body, ValueId id, const std::vector<ValueId>& operands,
                         const std::vector<OperandLayout>& layouts, const char* kind) {
    if (!id.valid())
        return {};
    const Value& value = body.value(id);
    const auto found = std::find(operands.begin(), operands.end(), id);
    if (found != operands.end()) {
        const auto slot = static_cast<size_t>(found - operands.begin());
        return {true, layouts[slot], fmt::format("{}{}", kind, slot), value.constant};
    }
    Extents extents = value.type.extents().value_or(Extents{});
    return {true, {value.type.dtype, extents, rowMajorStrides(extents), 16}, "", value.constant};
}

} // namespace

std::variant<LibraryView, Reason> LibraryView::make(const KernelRequest& request,
                                                    std::initializer_list<Op> ops) {
    const KernelProgram& program = *request.program;
    const auto& code = std::get<Library>(program.code);
    if (!program.body)
        return refusal("support", "the program has no body");
    LibraryView out;
    const Graph& body = *program.body;
    out.m_node = &body.node(code.node);
    if (std::find(ops.begin(), ops.end(), out.m_node->op) == ops.end())
        return refusal("support", fmt::format("no kernel for {}", nameOf(out.m_node->op)));
    if (auto reason = refuseTypes(request))
        return *reason;
    for (ValueId id : out.m_node->inputs)
        out.m_inputs.push_back(operandOf(body, id, body.inputs(), request.inputs, "in"));
    for (ValueId id : out.m_node->outputs)
        out.m_outputs.push_back(operandOf(body, id, body.outputs(), request.outputs, "out"));
    for (LibraryOperand& operand : out.m_inputs)
        for (size_t slot = 0; slot < request.constants.size(); ++slot)
            if (operand.pointer == fmt::format("in{}", slot) && request.constants[slot])
                operand.contents = request.constants[slot];
    return out;
}

const LibraryOperand& LibraryView::input(size_t i) const {
    return i < m_inputs.size() ? m_inputs[i] : omitted;
}

const LibraryOperand& LibraryView::output(size_t i) const {
    return i < m_outputs.size() ? m_outputs[i] : omitted;
}

bool fitsInts(const OperandLayout& layout) {
    __int128 reach = 0;
    for (size_t d = 0; d < layout.extents.size(); ++d)
        reach += static_cast<__int128>(std::abs(layout.strides[d])) * layout.extents[d];
    return reach <= std::numeric_limits<int32_t>::max() / 2;
}

} // namespace fuselage::gpu
