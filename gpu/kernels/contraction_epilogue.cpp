// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/contraction_epilogue.h"

#include "core/graph/type.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

std::vector<KernelOperand> joined(const ContractionView& view, bool stores) {
    std::vector<KernelOperand> out;
    if (stores)
        out = view.writes;
    out.insert(out.end(), view.reads.begin(), view.reads.end());
    return out;
}

/// How `width` neighbours along the innermost loop of `lanes` reach an operand.
LaneAccess accessOf(const KernelOperand& operand, size_t number, const LoopNest& lanes,
                    const std::vector<const LoopNest*>& others, int width) {
    if (!lanes.moves(number) || lanes.innerStride(number) == 0)
        return LaneAccess::Uniform;
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    const int64_t bytes = std::min<int64_t>(16, width * size);
    bool aligned = lanes.innerStride(number) == 1 && operand.alignment % bytes == 0 &&
                   operand.access.offset * size % bytes == 0 && bytes >= 2;
    for (const LoopNest* nest : others)
        for (const Loop& loop : nest->loops())
            aligned = aligned && (nest == &lanes && &loop == &lanes.loops().back()
                                      ? true
                                      : loop.strides[number] * size % bytes == 0);
    return aligned ? LaneAccess::Vector : LaneAccess::Gather;
}

} // namespace

ResultLanes widestResults(const ContractionView& view) {
    const std::vector<KernelOperand> operands = joined(view, true);
    const LoopNest batch = axisNest(view, view.batch, 0, operands);
    const LoopNest m = axisNest(view, view.m, view.batch.size(), operands);
    const LoopNest n = axisNest(view, view.n, view.batch.size() + view.m.size(), operands);
    for (int width = 8; width >= 2; width /= 2)
        for (const bool alongM : {false, true}) {
            const LoopNest& lanes = alongM ? m : n;
            bool all = !view.writes.empty() && lanes.innerExtent() % width == 0;
            for (size_t w = 0; w < view.writes.size() && all; ++w)
                all =
                    sizeOf(view.writes[w].dtype) * static_cast<size_t>(width) <= 16 &&
                    accessOf(operands[w], w, lanes, {&batch, &m, &n}, width) == LaneAccess::Vector;
            if (all)
                return {width, alongM};
        }
    return {};
}

EpilogueText::EpilogueText(const KernelRequest& request, const ContractionView& view,
                           ResultLanes lanes, bool stores)
    : m_request(request), m_view(view), m_lanes(lanes), m_stores(stores),
      m_operands(joined(view, stores)), m_batch(axisNest(view, view.batch, 0, m_operands)),
      m_m(axisNest(view, view.m, view.batch.size(), m_operands)),
      m_n(axisNest(view, view.n, view.batch.size() + view.m.size(), m_operands)) {
    const auto& code = std::get<Contraction>(request.program->code);
    TapeStyle style{request.strict, storesNarrow(request, view.writes), {}, {}};
    if (stores)
        for (const KernelOperand& write : view.writes)
            style.stored.push_back(write.dtype);
    const TapeFunction tape = printTape("@epilogue", code.epilogue.tape, style);
    m_numeric = tape.numeric;
    const std::vector<ExtraParameter> extra;
    m_parameters = parameterList(request, extra, false);
    const char* index = view.wide ? "unsigned long long" : "unsigned";
    m_text = tape.text +
             fmt::format("/// Ends {0} result{1} from their sums.\n"
                         "__device__ __forceinline__ {2} @finish(const {3}* sums, {4} b, {4} m, "
                         "{4} n, {5}) {{\n",
                         m_lanes.width, m_lanes.width == 1 ? "" : "s",
                         stores ? "void" : registerType(tape.outputs[0]),
                         registerType(code.accumulate), index, parameterList(request, extra, true));
    m_text +=
        m_batch.split("b", "b", "    ") + m_m.split("m", "m", "    ") + m_n.split("n", "n", "    ");
    m_text += loads(tape) + results(tape) + "}\n\n";
}

std::string EpilogueText::address(const KernelOperand& operand, size_t number) const {
    std::string out = operand.pointer;
    if (operand.access.offset != 0)
        out += fmt::format(" + {}", operand.access.offset);
    const std::pair<const LoopNest*, const char*> axes[] = {
        {&m_batch, "b"}, {&m_m, "m"}, {&m_n, "n"}};
    for (const auto& [nest, prefix] : axes)
        if (nest->moves(number))
            out += " + (" + nest->offset(number, prefix) + ")";
    return out;
}

std::string EpilogueText::loads(const TapeFunction& tape) {
    const LoopNest& lanes = m_lanes.alongM ? m_m : m_n;
    std::string out;
    for (uint16_t used : tape.used) {
        if (used == 0)
            continue;
        const size_t number = m_operands.size() - m_view.reads.size() + used - 1;
        const KernelOperand& read = m_operands[number];
        const char* type = registerType(read.dtype);
        const std::string at = address(read, number);
        switch (accessOf(read, number, lanes, {&m_batch, &m_m, &m_n}, m_lanes.width)) {
        case LaneAccess::Uniform:
            out += fmt::format("    const {} x{} = load({});\n", type, used, at);
            break;
        case LaneAccess::Vector:
            out += m_lanes.width == 1
                       ? fmt::format("    const {} x{}[1] = {{load({})}};\n", type, used, at)
                       : fmt::format("    {} x{}[{}];\n    loadLanes<{}>({}, x{});\n", type, used,
                                     m_lanes.width, m_lanes.width, at, used);
            break;
        case LaneAccess::Gather:
            out += fmt::format("    {} x{}[{}];\n#pragma unroll\n    for (int v = 0; v < {}; ++v)\n"
                               "        x{}[v] = load({} + v * {});\n",
                               type, used, m_lanes.width, m_lanes.width, used, at,
                               lanes.innerStride(number));
            break;
        }
    }
    return out;
}

std::string EpilogueText::results(const TapeFunction& tape) {
    const auto& code = std::get<Contraction>(m_request.program->code);
    const LoopNest& lanes = m_lanes.alongM ? m_m : m_n;
    std::vector<std::string> inputs(m_view.reads.size() + 1), outputs;
    const DType sum = code.epilogue.tape.inputs[0];
    inputs[0] = fmt::format("static_cast<{}>(sums[v])", registerType(sum));
    if (m_request.strict && sizeOf(sum) == 2 && isFloat(sum))
        inputs[0] = fmt::format("{}({})", sum == DType::Float16 ? "roundToHalf" : "roundToBFloat16",
                                inputs[0]);
    for (uint16_t used : tape.used) {
        if (used == 0)
            continue;
        const size_t number = m_operands.size() - m_view.reads.size() + used - 1;
        const bool uniform = accessOf(m_operands[number], number, lanes, {&m_batch, &m_m, &m_n},
                                      m_lanes.width) == LaneAccess::Uniform;
        inputs[used] = fmt::format("x{}{}", used, uniform ? "" : "[v]");
    }
    std::string out;
    for (size_t w = 0; w < tape.outputs.size(); ++w) {
        out += fmt::format("    {} y{}[{}];\n", registerType(tape.outputs[w]), w, m_lanes.width);
        outputs.push_back(fmt::format("y{}[v]", w));
    }
    out += fmt::format("#pragma unroll\n    for (int v = 0; v < {}; ++v)\n        {};\n",
                       m_lanes.width, tape.call(inputs, outputs));
    if (!m_stores)
        return out + "    return y0[0];\n";
    for (size_t w = 0; w < m_view.writes.size(); ++w) {
        const std::string at = address(m_operands[w], w);
        out += m_lanes.width > 1
                   ? fmt::format("    storeLanes<{}, false>({}, y{});\n", m_lanes.width, at, w)
                   : fmt::format("    store({}, y{}[0]);\n", at, w);
    }
    return out;
}

std::string EpilogueText::call(const std::string& accumulators, const std::string& batch,
                               const std::string& m, const std::string& n) const {
    return fmt::format("@finish({}, {}, {}, {}, {})", accumulators, batch, m, n, m_parameters);
}

} // namespace fuselage::gpu
