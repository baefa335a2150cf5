// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: core/ops decides where each position of the result reads and how much it
// weighs; the kernel follows that table. A thread owns neighbouring elements of the result.
#include "core/graph/type.h"
#include "core/ops/resample.h"
#include "gpu/kernels/copy.h"
#include "gpu/kernels/library_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace fuselage::gpu {

namespace {

/// Words of 32 bits with the tables of all axes, one after the other.
struct WordTable {
    std::vector<int32_t> words;

    size_t add(const std::vector<int32_t>& more) {
        words.insert(words.end(), more.begin(), more.end());
        return words.size() - more.size();
    }

    std::string bytes() const {
        return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(int32_t)};
    }
};

/// Where an axis's tables begin.
struct AxisText {
    size_t dim = 0;
    size_t first = 0, offset = 0, weight = 0;
    size_t outside = 0;
    bool hasOutside = false;
};

class ResizeEmitter {
public:
    ResizeEmitter(const LibraryView& view, const ResizeTable& table);
    KernelPart emit();

    std::string tables() const { return m_words.bytes(); }

private:
    void addAxis(const ResizedAxisTable& axis);
    int chooseWidth() const;
    std::string taps() const;

    const ResizeTable& m_table;
    KernelOperand m_from, m_to;
    Extents m_space, m_fromStrides;
    std::vector<AxisText> m_axes;
    WordTable m_words;
    int m_width = 1;
};

ResizeEmitter::ResizeEmitter(const LibraryView& view, const ResizeTable& table)
    : m_table(table), m_space(table.extents) {
    const LibraryOperand &from = view.input(0), &to = view.output(0);
    m_from = {from.pointer, from.layout.dtype, {0, from.layout.strides}, from.layout.alignment};
    m_to = {to.pointer, to.layout.dtype, {0, to.layout.strides}, to.layout.alignment};
    if (table.nearest) {
        m_from = asBits(m_from, false);
        m_to = asBits(m_to, true);
    }
    m_fromStrides = from.layout.strides;
    for (const ResizedAxisTable& axis : table.axes)
        addAxis(axis);
    m_width = chooseWidth();
}

void ResizeEmitter::addAxis(const ResizedAxisTable& axis) {
    std::vector<int32_t> first, offsets, weights, outside;
    const int64_t step = m_fromStrides[axis.axis];
    for (const std::vector<ResizeTap>& taps : axis.taps) {
        first.push_back(static_cast<int32_t>(offsets.size()));
        for (const ResizeTap& tap : taps) {
            const auto offset = static_cast<int32_t>(tap.index * step);
            if (!offsets.empty() && first.back() < static_cast<int32_t>(offsets.size()) &&
                offsets.back() == offset) { // clamped to the edge: one element, once
                weights.back() = std::bit_cast<int32_t>(std::bit_cast<float>(weights.back()) +
                                                        static_cast<float>(tap.weight));
                continue;
            }
            offsets.push_back(offset);
            weights.push_back(std::bit_cast<int32_t>(static_cast<float>(tap.weight)));
        }
    }
    first.push_back(static_cast<int32_t>(offsets.size()));
    for (bool is : axis.outside)
        outside.push_back(is ? 1 : 0);
    AxisText text{axis.axis, 0, 0, 0, 0, !axis.outside.empty()};
    text.first = m_words.add(first);
    text.offset = m_words.add(offsets);
    text.weight = m_words.add(weights);
    text.outside = m_words.add(outside);
    m_axes.push_back(text);
    m_from.access.strides[axis.axis] = 0; // the table has it
}

/// Elements along a contiguous dim that keeps its extent.
int ResizeEmitter::chooseWidth() const {
    for (size_t d = 0; d < m_space.size(); ++d) {
        if (m_from.access.strides[d] != 1 || m_to.access.strides[d] != 1)
            continue;
        const auto size = static_cast<int64_t>(sizeOf(m_to.dtype));
        const int64_t width = std::min<int64_t>(8, 16 / size);
        bool all =
            m_space[d] % width == 0 && m_from.alignment % 16 == 0 && m_to.alignment % 16 == 0;
        for (size_t other = 0; other < m_space.size(); ++other)
            all = all && (other == d || (m_fromStrides[other] % width == 0 &&
                                         m_to.access.strides[other] % width == 0));
        return all ? static_cast<int>(width) : 1;
    }
    return 1;
}

/// Nested loops over the taps of all axes; `sum` gets what they weigh together.
std::string ResizeEmitter::taps() const {
    std::string out, indent = "    ", at = "from", weight;
    for (size_t a = 0; a < m_axes.size(); ++a) {
        const AxisText& axis = m_axes[a];
        out += fmt::format("{0}for (int t{1} = words[{2} + p{1}]; t{1} < words[{2} + p{1} + 1]; "
                           "++t{1}) {{\n",
                           indent, a, axis.first);
        indent += "    ";
        at += fmt::format(" + words[{} + t{}]", axis.offset, a);
        weight += fmt::format("{}floatOf(static_cast<unsigned>(words[{} + t{}]))",
                              weight.empty() ? "" : " * ", axis.weight, a);
    }
    const char* type = registerType(m_from.dtype);
    out += fmt::format("{}{} x[{}];\n", indent, type, m_width);
    out += m_width == 1 ? fmt::format("{}x[0] = load({});\n", indent, at)
                        : fmt::format("{}loadLanes<{}>({}, x);\n", indent, m_width, at);
    if (!m_table.nearest && !weight.empty())
        out += fmt::format("{}const float weight = {};\n", indent, weight);
    out += fmt::format("#pragma unroll\n{}for (int v = 0; v < {}; ++v)\n{}    sum[v] {};\n", indent,
                       m_width, indent,
                       m_table.nearest  ? "= x[v]"
                       : weight.empty() ? "= x[v]"
                                        : "+= weight * x[v]");
    for (size_t a = m_axes.size(); a-- > 0;)
        out += std::string(4 * (a + 1), ' ') + "}\n";
    return out;
}

KernelPart ResizeEmitter::emit() {
    // The positions along the axes are operands too, so that loops keep those dims apart.
    std::vector<KernelOperand> all = {m_to, m_from};
    for (const AxisText& axis : m_axes) {
        KernelOperand position{"", DType::Int32, {0, Extents(m_space.size(), 0)}, 4};
        position.access.strides[axis.dim] = 1;
        all.push_back(position);
    }
    const LoopNest nest(m_space, all, 0, 0);
    KernelPart part;
    part.helpers = {"vectors"};
    const int64_t perBlock = int64_t{m_width} * defaultThreads;
    part.blocks = (nest.count() + perBlock - 1) / perBlock;
    part.comment = {fmt::format(
        "{} resized along {} dims, {}, {} elements a thread", text(m_space), m_axes.size(),
        m_table.nearest ? "one source each" : "sums in the tables' order", m_width)};
    part.body = fmt::format("    const unsigned first = (block * {}u + threadIdx.x) * {}u;\n"
                            "    if (first >= {}u)\n        return;\n",
                            defaultThreads, m_width, nest.count()) +
                nest.split("first", "i", "    ");
    for (size_t a = 0; a < m_axes.size(); ++a)
        part.body += fmt::format("    const int p{} = {};\n", a, nest.offset(2 + a, "i"));
    part.body += fmt::format("    const {}* const from = {} + ({});\n", storageType(m_from.dtype),
                             m_from.pointer, nest.offset(1, "i"));
    part.body += fmt::format("    {} sum[{}];\n#pragma unroll\n    for (int v = 0; v < {}; ++v)\n"
                             "        sum[v] = 0;\n",
                             registerType(m_from.dtype), m_width, m_width);
    part.body += taps();
    for (size_t a = 0; a < m_axes.size(); ++a)
        if (m_axes[a].hasOutside)
            part.body += fmt::format(
                "    if (words[{} + p{}] != 0)\n#pragma unroll\n"
                "        for (int v = 0; v < {}; ++v)\n            sum[v] = {};\n",
                m_axes[a].outside, a, m_width, floatLiteral(DType::Float32, m_table.extrapolation));
    const std::string to = fmt::format("{} + ({})", m_to.pointer, nest.offset(0, "i"));
    part.body += m_width == 1 ? fmt::format("    store({}, sum[0]);\n", to)
                              : fmt::format("    storeLanes<{}, false>({}, sum);\n", m_width, to);
    part.extra = {{"const int*", "words", {KernelArgument::Kind::Table, 0, 0}}};
    return part;
}

std::variant<ResizeTable, Reason> tableOf(const LibraryView& view) {
    const LibraryOperand &from = view.input(0), &to = view.output(0);
    ReferenceValue shape;
    shape.dtype = from.layout.dtype;
    shape.extents = from.layout.extents;
    std::vector<ReferenceValue> parameters;
    parameters.reserve(4);
    std::vector<const ReferenceValue*> inputs = {&shape};
    for (size_t i = 1; i < 4; ++i) {
        inputs.push_back(nullptr);
        if (!view.input(i))
            continue;
        if (!view.input(i).contents)
            return refusal("support", "scales, sizes and roi of a Resize must be constant");
        parameters.push_back(ReferenceValue::from(*view.input(i).contents));
        inputs.back() = &parameters.back();
    }
    auto table = resizeTable(view.node(), inputs);
    if (!table)
        return refusal("support", table.error().text());
    if (table->extents != to.layout.extents || from.pointer.empty() || to.pointer.empty() ||
        !fitsInts(from.layout) || !fitsInts(to.layout))
        return refusal("support", "the result is too large or not what was inferred");
    bool outside = false;
    for (const ResizedAxisTable& axis : table->axes)
        outside = outside || !axis.outside.empty();
    const bool number = isFloat(from.layout.dtype) && from.layout.dtype != DType::Float64;
    if ((!table->nearest || outside) && !number)
        return refusal("dtype", fmt::format("no interpolation of {}", nameOf(from.layout.dtype)));
    if (outside)
        table->nearest = false; // positions outside get a number, so elements are numbers
    return std::move(*table);
}

} // namespace

EmitResult emitResize(const KernelRequest& request) {
    const char* name = "resize_table";
    auto view = LibraryView::make(request, {Op::Resize, Op::Upsample});
    if (auto* reason = std::get_if<Reason>(&view))
        return finish(name, request, PartResult(*reason));
    auto table = tableOf(std::get<LibraryView>(view));
    if (auto* reason = std::get_if<Reason>(&table))
        return finish(name, request, PartResult(*reason));
    ResizeEmitter emitter(std::get<LibraryView>(view), std::get<ResizeTable>(table));
    KernelPart part = emitter.emit();
    return finishInOrder(name, request, {std::move(part)}, {{}, 0, {emitter.tables()}});
}

} // namespace fuselage::gpu
