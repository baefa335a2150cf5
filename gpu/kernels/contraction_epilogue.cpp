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

bool returns(EpilogueEnd end) {
    return end == EpilogueEnd::Returns || end == EpilogueEnd::Unrounded;
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
                           ResultLanes lanes, EpilogueEnd end, std::optional<size_t> landed)
    : m_request(request), m_view(view), m_lanes(lanes), m_end(end), m_landed(landed),
      m_operands(joined(view, !returns(end))), m_batch(axisNest(view, view.batch, 0, m_operands)),
      m_m(axisNest(view, view.m, view.batch.size(), m_operands)),
      m_n(axisNest(view, view.n, view.batch.size() + view.m.size(), m_operands)) {
    const auto& code = std::get<Contraction>(request.program->code);
    TapeStyle style{request.strict, storesNarrow(request, view.writes), {}, {}};
    if (end != EpilogueEnd::Returns) // a last Cast is left to the store, or to who takes the result
        for (const KernelOperand& write : view.writes)
            style.stored.push_back(write.dtype);
    const TapeFunction tape = printTape("@epilogue", code.epilogue.tape, style);
    m_numeric = tape.numeric;
    m_length = code.epilogue.tape.code.size();
    for (const uint16_t used : tape.used)
        m_fetchesForRows = m_fetchesForRows ||
                           (used != 0 && m_m.moves(numberOf(used)) && !hasLanded(numberOf(used)));
    const std::vector<ExtraParameter> extra;
    m_parameters = parameterList(request, extra, false);
    const char* index = view.wide ? "unsigned long long" : "unsigned";
    m_text = tape.text + columns(tape) + rows(tape) +
             fmt::format("/// Ends {} result{} from their sums.\n", m_lanes.width,
                         m_lanes.width == 1 ? "" : "s");
    const char* sum = registerType(code.accumulate);
    if (inColumns())
        m_text += fmt::format("__device__ __forceinline__ void @finish(const {}* sums, const "
                              "@Columns& from, const @Rows& rows, {} m) {{\n",
                              sum, index);
    else
        m_text += fmt::format("__device__ __forceinline__ {0} @finish(const {1}* sums, {2} b, {2} "
                              "m, {2} n, {3}) {{\n",
                              returns(end) ? registerType(tape.outputs[0]) : "void", sum, index,
                              parameterList(request, extra, true));
    m_text += splits(!inColumns(), true, !inColumns());
    m_text += (inColumns() ? unpacked(tape) : loads(tape, false)) + results(tape) + "}\n\n";
}

std::string EpilogueText::splits(bool batch, bool m, bool n) const {
    return (batch ? m_batch.split("b", "b", "    ") : "") + (m ? m_m.split("m", "m", "    ") : "") +
           (n ? m_n.split("n", "n", "    ") : "");
}

LaneAccess EpilogueText::access(size_t number) const {
    return accessOf(m_operands[number], number, m_lanes.alongM ? m_m : m_n, {&m_batch, &m_m, &m_n},
                    m_lanes.width);
}

/// Where the first of the results' elements lies, from what the function knows.
std::string EpilogueText::address(const KernelOperand& operand, size_t number) const {
    std::string out = operand.pointer;
    if (inColumns())
        out = fmt::format("from.p{}", number);
    else if (operand.access.offset != 0)
        out += fmt::format(" + {}", operand.access.offset);
    const std::pair<const LoopNest*, const char*> axes[] = {
        {&m_batch, "b"}, {&m_m, "m"}, {&m_n, "n"}};
    for (const auto& [nest, prefix] : axes)
        if (nest->moves(number) && (!inColumns() || nest == &m_m))
            out += " + (" + nest->offset(number, prefix) + ")";
    return out;
}

/// Declares and fills x1 ..., or the members of that name of `to`: of the columns, reads that m
/// does not move.
std::string EpilogueText::loads(const TapeFunction& tape, bool columns) const {
    const LoopNest& lanes = m_lanes.alongM ? m_m : m_n;
    std::string out;
    for (uint16_t used : tape.used) {
        if (used == 0)
            continue;
        const size_t number = numberOf(used);
        if (columns && m_m.moves(number))
            continue;
        const KernelOperand& read = m_operands[number];
        const char* type = registerType(read.dtype);
        const std::string at = columns ? fmt::format("to.p{}", number) : address(read, number);
        const std::string x = fmt::format("{}x{}", columns ? "to." : "", used);
        const LaneAccess how = access(number);
        if (how == LaneAccess::Uniform) {
            out += columns ? fmt::format("    {} = load({});\n", x, at)
                           : fmt::format("    const {} {} = load({});\n", type, x, at);
            continue;
        }
        if (!columns)
            out += fmt::format("    {} {}[{}];\n", type, x, m_lanes.width);
        if (how == LaneAccess::Gather)
            out += fmt::format("#pragma unroll\n    for (int v = 0; v < {}; ++v)\n"
                               "        {}[v] = load({} + v * {});\n",
                               m_lanes.width, x, at, lanes.innerStride(number));
        else
            out += m_lanes.width == 1
                       ? fmt::format("    {}[0] = load({});\n", x, at)
                       : fmt::format("    loadLanes<{}>({}, {});\n", m_lanes.width, at, x);
    }
    return out;
}

std::string EpilogueText::columns(const TapeFunction& tape) const {
    if (!inColumns())
        return {};
    const char* index = m_view.wide ? "unsigned long long" : "unsigned";
    std::string members, places;
    auto place = [&](size_t number, bool writes) {
        const KernelOperand& operand = m_operands[number];
        members += fmt::format("    {}{}* p{};\n", writes ? "" : "const ",
                               storageType(operand.dtype), number);
        places +=
            fmt::format("    to.p{} = {} + {}", number, operand.pointer, operand.access.offset);
        if (m_batch.moves(number))
            places += " + (" + m_batch.offset(number, "b") + ")";
        if (m_n.moves(number))
            places += " + (" + m_n.offset(number, "n") + ")";
        places += ";\n";
    };
    for (size_t w = 0; w < m_view.writes.size(); ++w)
        place(w, true);
    for (uint16_t used : tape.used) {
        if (used == 0)
            continue;
        const size_t number = numberOf(used);
        if (!hasLanded(number))
            place(number, false);
        if (m_m.moves(number))
            continue;
        members += fmt::format("    {} x{}", registerType(m_operands[number].dtype), used);
        members += access(number) == LaneAccess::Uniform ? std::string(";\n")
                                                         : fmt::format("[{}];\n", m_lanes.width);
    }
    return "/// What the results of a column have in common.\nstruct @Columns {\n" + members +
           fmt::format("}};\n\n__device__ __forceinline__ void @columns(@Columns& to, {0} b, {0} "
                       "n, {1}) {{\n",
                       index, parameterList(m_request, {}, true)) +
           splits(true, false, true) + places + loads(tape, true) + "}\n\n";
}

/// What m moves, in accesses as it is stored, so that few registers hold what is under way.
std::string EpilogueText::rows(const TapeFunction& tape) const {
    if (!inColumns())
        return {};
    std::string members, body;
    for (uint16_t used : tape.used) {
        if (used == 0 || !m_m.moves(numberOf(used)))
            continue;
        const size_t number = numberOf(used);
        const KernelOperand& read = m_operands[number];
        const std::string at = hasLanded(number) ? "" : address(read, number);
        const LaneAccess how = access(number);
        const char* type = registerType(read.dtype);
        if (how == LaneAccess::Vector) {
            const int words = (bytesOf(read) + 3) / 4;
            members += fmt::format("    unsigned w{}[{}];\n", used, words);
            body += hasLanded(number)
                        ? fmt::format("    loadShared<{}>(landed, to.w{});\n", words, used)
                        : fmt::format("    fetchWords<{}>({}, to.w{});\n", bytesOf(read), at, used);
        } else if (how == LaneAccess::Uniform) {
            members += fmt::format("    {} x{};\n", type, used);
            body += fmt::format("    to.x{} = load({});\n", used, at);
        } else {
            members += fmt::format("    {} x{}[{}];\n", type, used, m_lanes.width);
            body += fmt::format("#pragma unroll\n    for (int v = 0; v < {}; ++v)\n"
                                "        to.x{}[v] = load({} + v * {});\n",
                                m_lanes.width, used, at, m_n.innerStride(number));
        }
    }
    return fmt::format("/// What one row of them has for itself.\nstruct @Rows {{\n{}}};\n\n"
                       "__device__ __forceinline__ void @rows(@Rows& to, const @Columns& from, {} "
                       "m{}) {{\n{}{}}}\n\n",
                       members, m_view.wide ? "unsigned long long" : "unsigned",
                       m_landed ? ", const unsigned* landed" : "", splits(false, true, false),
                       body);
}

/// Declares x1 ... of the words that @rows read.
std::string EpilogueText::unpacked(const TapeFunction& tape) const {
    std::string out;
    for (uint16_t used : tape.used) {
        if (used == 0 || !m_m.moves(numberOf(used)) || access(numberOf(used)) != LaneAccess::Vector)
            continue;
        const KernelOperand& read = m_operands[numberOf(used)];
        out +=
            fmt::format("    {0} x{1}[{2}];\n#pragma unroll\n    for (int v = 0; v < {2}; ++v)\n"
                        "        x{1}[v] = lane(rows.w{1}, v, {3});\n",
                        registerType(read.dtype), used, m_lanes.width,
                        hasLanded(numberOf(used)) ? fmt::format("static_cast<const {}*>(nullptr)",
                                                                storageType(read.dtype))
                                                  : fmt::format("from.p{}", numberOf(used)));
    }
    return out;
}

std::string EpilogueText::results(const TapeFunction& tape) const {
    const auto& code = std::get<Contraction>(m_request.program->code);
    std::vector<std::string> inputs(m_view.reads.size() + 1), outputs;
    const DType sum = code.epilogue.tape.inputs[0];
    inputs[0] = fmt::format("static_cast<{}>(sums[v])", registerType(sum));
    if (m_request.strict && sizeOf(sum) == 2 && isFloat(sum))
        inputs[0] = fmt::format("{}({})", sum == DType::Float16 ? "roundToHalf" : "roundToBFloat16",
                                inputs[0]);
    for (uint16_t used : tape.used) {
        if (used == 0)
            continue;
        const size_t number = numberOf(used);
        const LaneAccess how = access(number);
        const char* where = !inColumns()                ? ""
                            : !m_m.moves(number)        ? "from."
                            : how == LaneAccess::Vector ? ""
                                                        : "rows.";
        inputs[used] = fmt::format("{}x{}{}", where, used, how == LaneAccess::Uniform ? "" : "[v]");
    }
    std::string out;
    for (size_t w = 0; w < tape.outputs.size(); ++w) {
        out += fmt::format("    {} y{}[{}];\n", registerType(tape.outputs[w]), w, m_lanes.width);
        outputs.push_back(fmt::format("y{}[v]", w));
    }
    out += fmt::format("#pragma unroll\n    for (int v = 0; v < {}; ++v)\n        {};\n",
                       m_lanes.width, tape.call(inputs, outputs));
    if (returns(m_end))
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

std::string EpilogueText::columnsCall(const std::string& to, const std::string& batch,
                                      const std::string& n) const {
    return fmt::format("@columns({}, {}, {}, {})", to, batch, n, m_parameters);
}

std::string EpilogueText::rowsCall(const std::string& to, const std::string& from,
                                   const std::string& m, const std::string& landed) const {
    return fmt::format("@rows({}, {}, {}{})", to, from, m, m_landed ? ", " + landed : "");
}

std::string EpilogueText::finishCall(const std::string& accumulators, const std::string& from,
                                     const std::string& rows, const std::string& m) const {
    return fmt::format("@finish({}, {}, {}, {})", accumulators, from, rows, m);
}

} // namespace fuselage::gpu
