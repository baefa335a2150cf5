// SPDX-License-Identifier: Apache-2.0
// ScatterElements and ScatterND. A thread owns some positions of one line of the result and reads
// all indices of that line in their order, so that of two updates for one place the later one
// stays, and sums do not depend on who is first. The reference stops at an index outside of the
// operand; a kernel cannot, and leaves it out.
#include "core/ops/tensor_index.h"
#include "gpu/kernels/copy.h"
#include "gpu/kernels/library_view.h"
#include "gpu/kernels/picked_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage::gpu {

namespace {

/// Positions of a thread.
constexpr double mostOwned = 8;
/// Threads that a multiprocessor wants before one owns more.
constexpr double threadsOfUnit = 512;
/// Indices read by all warps: about 5 ms of an H200.
constexpr double mostReads = 1 << 29;
/// Updates that a thread walks, one after the other.
constexpr int64_t mostEntries = 1 << 19;

struct ScatterOperands {
    /// Each with its strides over the lines, the positions and the entries, as far as it moves
    /// there.
    KernelOperand result, data, index, updates;
    Extents lines, positions, entries;
    std::vector<int64_t> covered; ///< of each line's dims: where the index ends, if before
    PickedAxes picked;            ///< the place: a position's number
    bool alongLast = false;       ///< neighbours in memory are positions of one line
};

/// The operand's strides over lines, positions and entries, in this order.
KernelOperand overDims(const LibraryOperand& operand, const Extents& lines,
                       const Extents& positions, const Extents& entries) {
    KernelOperand out{operand.pointer, operand.layout.dtype, {0, lines}, operand.layout.alignment};
    Extents& strides = out.access.strides;
    strides.insert(strides.end(), positions.begin(), positions.end());
    strides.insert(strides.end(), entries.begin(), entries.end());
    return out;
}

Extents withoutDim(Extents extents, size_t dim) {
    extents.erase(extents.begin() + static_cast<ptrdiff_t>(dim));
    return extents;
}

std::optional<ScatterOperands> elementOperands(const LibraryView& view) {
    const OperandLayout &data = view.input(0).layout, &index = view.input(1).layout;
    const OperandLayout &updates = view.input(2).layout, &result = view.output(0).layout;
    const auto axis =
        normalizedAxis(view.node().attributes.integer("axis", 0), data.extents.size());
    if (!axis || updates.extents != index.extents ||
        !coversElsewhere(data.extents, index.extents, *axis))
        return std::nullopt;
    const size_t at = *axis;
    ScatterOperands out;
    out.lines = withoutDim(data.extents, at);
    out.positions = {data.extents[at]};
    out.entries = {index.extents[at]};
    out.covered = withoutDim(index.extents, at);
    out.picked.axes = {{data.extents[at], 1}};
    out.alongLast = result.strides[at] == 1;
    out.result =
        overDims(view.output(0), withoutDim(result.strides, at), {result.strides[at]}, {0});
    out.data = overDims(view.input(0), withoutDim(data.strides, at), {data.strides[at]}, {0});
    out.index = overDims(view.input(1), withoutDim(index.strides, at), {0}, {index.strides[at]});
    out.updates =
        overDims(view.input(2), withoutDim(updates.strides, at), {0}, {updates.strides[at]});
    return out;
}

std::optional<ScatterOperands> sliceOperands(const LibraryView& view) {
    const OperandLayout &data = view.input(0).layout, &index = view.input(1).layout;
    const OperandLayout &updates = view.input(2).layout, &result = view.output(0).layout;
    if (index.extents.empty())
        return std::nullopt;
    const auto numbers = static_cast<ptrdiff_t>(index.extents.back());
    const auto entryDims = static_cast<ptrdiff_t>(index.extents.size()) - 1;
    const auto rank = static_cast<ptrdiff_t>(data.extents.size());
    const auto head = [](const Extents& of, ptrdiff_t n) {
        return Extents(of.begin(), of.begin() + n);
    };
    const auto tail = [](const Extents& of, ptrdiff_t n) {
        return Extents(of.begin() + n, of.end());
    };
    if (numbers > rank)
        return std::nullopt;
    Extents filled = head(index.extents, entryDims);
    const Extents slice = tail(data.extents, numbers);
    filled.insert(filled.end(), slice.begin(), slice.end());
    if (updates.extents != filled)
        return std::nullopt;
    ScatterOperands out;
    out.lines = tail(data.extents, numbers);
    out.positions = head(data.extents, numbers);
    out.entries = head(index.extents, entryDims);
    out.covered = out.lines;
    const Extents steps = rowMajorStrides(out.positions);
    for (size_t d = 0; d < steps.size(); ++d)
        out.picked.axes.push_back({out.positions[d], steps[d]});
    out.picked.numberStep = index.strides.back();
    out.alongLast = out.lines.empty();
    const Extents still(out.lines.size(), 0), stays(out.positions.size(), 0),
        same(out.entries.size(), 0);
    out.result = overDims(view.output(0), tail(result.strides, numbers),
                          head(result.strides, numbers), same);
    out.data =
        overDims(view.input(0), tail(data.strides, numbers), head(data.strides, numbers), same);
    out.index = overDims(view.input(1), still, stays, head(index.strides, entryDims));
    out.updates = overDims(view.input(2), tail(updates.strides, entryDims), stays,
                           head(updates.strides, entryDims));
    return out;
}

/// Coordinates of lines that the index may not reach, each as an operand that moves by one along
/// its dim, so that the loops over the lines keep them apart.
std::vector<KernelOperand> partlyCovered(const ScatterOperands& operands) {
    const size_t dims = operands.lines.size() + operands.positions.size() + operands.entries.size();
    std::vector<KernelOperand> out;
    for (size_t d = 0; d < operands.lines.size(); ++d)
        if (operands.covered[d] != operands.lines[d]) {
            KernelOperand coordinate;
            coordinate.access.strides.assign(dims, 0);
            coordinate.access.strides[d] = 1;
            out.push_back(std::move(coordinate));
        }
    return out;
}

/// Result, data, index, updates, then the coordinates. Elements that are only moved are bits,
/// whatever their type.
std::vector<KernelOperand> allOf(const ScatterOperands& operands, bool onlyMoves) {
    std::vector<KernelOperand> out = {operands.result, operands.data, operands.index,
                                      operands.updates};
    if (onlyMoves)
        for (size_t k : {size_t{0}, size_t{1}, size_t{3}})
            out[k] = asBits(out[k], k == 0);
    const std::vector<KernelOperand> coordinates = partlyCovered(operands);
    out.insert(out.end(), coordinates.begin(), coordinates.end());
    return out;
}

class ScatterEmitter {
public:
    ScatterEmitter(ScatterOperands operands, const std::string& reduction, double units);

    /// Indices that the warps read.
    double reads() const {
        return std::ceil(static_cast<double>(threads()) / 32) * static_cast<double>(entries());
    }

    int64_t entries() const { return m_entries.count(); }

    KernelPart emit() const;

private:
    int64_t groups() const { return (m_positions.count() + m_owned - 1) / m_owned; }

    int64_t threads() const { return m_lines.count() * groups(); }

    std::string place(size_t operand, const LoopNest& nest, const char* prefix) const {
        return fmt::format("{} + ({}) + ({})", m_all[operand].pointer, m_lines.offset(operand, "l"),
                           nest.offset(operand, prefix));
    }

    /// The statement for each position of the thread, which is the v-th.
    std::string eachOwned(const std::string& statement) const;
    std::string reached() const;
    std::string joined() const;

    ScatterOperands m_operands;
    std::string m_reduction;
    std::vector<KernelOperand> m_all; ///< see allOf
    LoopNest m_lines, m_positions, m_entries;
    int64_t m_owned = 1;
};

ScatterEmitter::ScatterEmitter(ScatterOperands operands, const std::string& reduction, double units)
    : m_operands(std::move(operands)), m_reduction(reduction),
      m_all(allOf(m_operands, reduction == "none")), m_lines(m_operands.lines, m_all, 0, 0),
      m_positions(m_operands.positions, m_all, m_operands.lines.size()),
      m_entries(m_operands.entries, m_all, m_operands.lines.size() + m_operands.positions.size()) {
    const double alone = static_cast<double>(m_lines.count()) *
                         static_cast<double>(m_positions.count()) / (units * threadsOfUnit);
    if (!m_operands.alongLast)
        m_owned = static_cast<int64_t>(std::clamp(alone, 1.0, mostOwned));
}

std::string ScatterEmitter::eachOwned(const std::string& statement) const {
    return fmt::format("#pragma unroll\n    for (int v = 0; v < {}; ++v) {{\n"
                       "        const {} position = from + v;\n        if (position < {}u) {{\n{}"
                       "            {}\n        }}\n    }}\n",
                       m_owned, m_positions.indexType(), m_positions.count(),
                       m_positions.split("position", "p", "            "), statement);
}

/// How many updates the line has.
std::string ScatterEmitter::reached() const {
    std::string inside;
    for (size_t d = 0, coordinate = 4; d < m_operands.lines.size(); ++d)
        if (m_operands.covered[d] != m_operands.lines[d])
            inside += fmt::format("{}{} < {}", inside.empty() ? "" : " && ",
                                  m_lines.offset(coordinate++, "l"), m_operands.covered[d]);
    return inside.empty() ? fmt::format("{}u", m_entries.count())
                          : fmt::format("{} ? {}u : 0u", inside, m_entries.count());
}

std::string ScatterEmitter::joined() const {
    const DType type = m_all[0].dtype;
    const auto wrapped = [&](const char* sign) {
        return isFloat(type) ? fmt::format("x[v] {} update", sign)
                             : fmt::format("static_cast<{}>(static_cast<Wide>(x[v]) {} "
                                           "static_cast<Wide>(update))",
                                           registerType(type), sign);
    };
    return m_reduction == "add"   ? wrapped("+")
           : m_reduction == "mul" ? wrapped("*")
           : m_reduction == "max" ? "maximum(x[v], update)"
           : m_reduction == "min" ? "minimum(x[v], update)"
                                  : "update";
}

KernelPart ScatterEmitter::emit() const {
    KernelPart part;
    part.blocks = (threads() + defaultThreads - 1) / defaultThreads;
    const bool rounds = isFloat(m_all[0].dtype) && (m_reduction == "add" || m_reduction == "mul");
    part.numeric = rounds ? NumericClass::Reassociated : NumericClass::Exact;
    part.comment = {fmt::format("{} lines of {} positions, {} a thread: all {} updates of a line "
                                "in their order; outside: left out",
                                m_lines.count(), m_positions.count(), m_owned, m_entries.count())};
    const bool isWide =
        m_lines.wide() || m_positions.wide() || threads() > std::numeric_limits<int32_t>::max();
    // Neighbours of a warp read and write neighbours in memory.
    const bool byPosition = m_operands.alongLast;
    part.body =
        fmt::format("    const {0} number = static_cast<{0}>(block) * {1}u + threadIdx.x;\n"
                    "    if (number >= {2}u)\n        return;\n"
                    "    const {0} line = number {3} {4}u, from = number {5} {4}u * {6}u;\n",
                    isWide ? "unsigned long long" : "unsigned", defaultThreads, threads(),
                    byPosition ? "/" : "%", byPosition ? groups() : m_lines.count(),
                    byPosition ? "%" : "/", m_owned);
    part.body += m_lines.split("line", "l", "    ");
    const char* type = registerType(m_all[0].dtype);
    part.body += fmt::format("    {} x[{}];\n", type, m_owned);
    part.body += eachOwned(fmt::format("x[v] = load({});", place(1, m_positions, "p")));
    part.body += fmt::format(
        "    const {0} count = {1};\n    for ({0} entry = 0; entry < count; ++entry) {{\n",
        m_entries.indexType(), reached());
    part.body += m_entries.split("entry", "e", "        ");
    part.body += m_operands.picked.place(place(2, m_entries, "e"), "        ");
    part.body += fmt::format("        const long long mine = at - static_cast<long long>(from);\n"
                             "        if (inside && mine >= 0 && mine < {0}) {{\n"
                             "            const {1} update = load({2});\n#pragma unroll\n"
                             "            for (int v = 0; v < {0}; ++v)\n"
                             "                x[v] = mine == v ? {3} : x[v];\n        }}\n    }}\n",
                             m_owned, type, place(3, m_entries, "e"), joined());
    part.body += eachOwned(fmt::format("store({}, x[v]);", place(0, m_positions, "p")));
    return part;
}

bool isKnown(const std::string& reduction, DType type) {
    return reduction == "none" ||
           (type != DType::Bool &&
            (reduction == "add" || reduction == "mul" || reduction == "max" || reduction == "min"));
}

PartResult scatterPart(const KernelRequest& request, const LibraryView& view) {
    for (const LibraryOperand& operand :
         {view.input(0), view.input(1), view.input(2), view.output(0)})
        if (operand.pointer.empty())
            return refusal("support", "an operand is a constant of the body");
    auto operands = view.node().op == Op::ScatterND ? sliceOperands(view) : elementOperands(view);
    const std::string reduction = view.node().attributes.string("reduction", "none");
    if (!operands || !picksPlaces(operands->index.dtype) ||
        operands->updates.dtype != operands->data.dtype ||
        view.output(0).layout.extents != view.input(0).layout.extents ||
        !isKnown(reduction, operands->data.dtype))
        return refusal("support", "no such axis or reduction, or indices that no kernel has");
    const double units = request.profile ? request.profile->units : 132;
    const ScatterEmitter emitter(std::move(*operands), reduction, units);
    if (emitter.reads() > mostReads || emitter.entries() > mostEntries)
        return refusal("support", fmt::format("{} updates, {:.3g} reads of indices",
                                              emitter.entries(), emitter.reads()));
    return emitter.emit();
}

} // namespace

EmitResult emitScatter(const KernelRequest& request) {
    const char* name = "scatter";
    auto view = LibraryView::make(request, {Op::ScatterElements, Op::ScatterND});
    if (auto* reason = std::get_if<Reason>(&view))
        return finish(name, request, PartResult(*reason));
    return finish(name, request, scatterPart(request, std::get<LibraryView>(view)));
}

} // namespace fuselage::gpu
