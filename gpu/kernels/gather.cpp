// SPDX-License-Identifier: Apache-2.0
// Gather, GatherElements and GatherND: a thread moves some consecutive elements that one index (or
// tuple of an index) chooses. The reference stops at an index outside of the operand; a kernel
// cannot, and gives zeros there.
#include "core/ops/tensor_index.h"
#include "gpu/kernels/copy.h"
#include "gpu/kernels/library_view.h"
#include "gpu/kernels/picked_axes.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

struct GatherOperands {
    KernelOperand result, data, index; ///< over the result's dims; data without the picked axes
    PickedAxes picked;
};

/// Which operand's strides each dim of the result follows.
class GatherDims {
public:
    GatherDims(const OperandLayout& data, const OperandLayout& index, GatherOperands& out)
        : m_data(data), m_index(index), m_out(out) {}

    void ofData(size_t d) { add(m_data.strides[d], 0); }

    void ofIndex(size_t i) { add(0, m_index.strides[i]); }

    void ofBoth(size_t d) { add(m_data.strides[d], m_index.strides[d]); }

    void pick(size_t d) { m_out.picked.axes.push_back({m_data.extents[d], m_data.strides[d]}); }

private:
    void add(int64_t data, int64_t index) {
        m_out.data.access.strides.push_back(data);
        m_out.index.access.strides.push_back(index);
    }

    const OperandLayout &m_data, &m_index;
    GatherOperands& m_out;
};

KernelOperand withoutDims(const LibraryOperand& operand) {
    return {operand.pointer, operand.layout.dtype, {0, {}}, operand.layout.alignment};
}

std::optional<GatherOperands> operandsOf(const LibraryView& view) {
    const LibraryOperand &data = view.input(0), &index = view.input(1), &result = view.output(0);
    if (data.pointer.empty() || index.pointer.empty() || result.pointer.empty())
        return std::nullopt;
    GatherOperands out{withoutDims(result), withoutDims(data), withoutDims(index), {}};
    out.result.access.strides = result.layout.strides;
    GatherDims dims(data.layout, index.layout, out);
    const size_t rank = data.layout.extents.size(), indexRank = index.layout.extents.size();
    const Attributes& attributes = view.node().attributes;
    if (view.node().op == Op::GatherND) {
        const auto batch = static_cast<size_t>(attributes.integer("batch_dims", 0));
        const size_t numbers = indexRank > 0 ? static_cast<size_t>(index.layout.extents.back()) : 0;
        if (batch >= indexRank || batch + numbers > rank ||
            !std::equal(index.layout.extents.begin(),
                        index.layout.extents.begin() + ptrdiff_t(batch),
                        data.layout.extents.begin()))
            return std::nullopt;
        for (size_t d = 0; d < batch; ++d)
            dims.ofBoth(d);
        for (size_t i = batch; i + 1 < indexRank; ++i)
            dims.ofIndex(i);
        for (size_t d = batch; d < batch + numbers; ++d)
            dims.pick(d);
        for (size_t d = batch + numbers; d < rank; ++d)
            dims.ofData(d);
        out.picked.numberStep = index.layout.strides.back();
    } else {
        const auto axis = normalizedAxis(attributes.integer("axis", 0), rank);
        if (!axis)
            return std::nullopt;
        dims.pick(*axis);
        if (view.node().op == Op::GatherElements) {
            if (!coversElsewhere(data.layout.extents, index.layout.extents, *axis))
                return std::nullopt;
            for (size_t d = 0; d < rank; ++d)
                if (d == *axis)
                    dims.ofIndex(d);
                else
                    dims.ofBoth(d);
        } else {
            for (size_t d = 0; d < *axis; ++d)
                dims.ofData(d);
            for (size_t i = 0; i < indexRank; ++i)
                dims.ofIndex(i);
            for (size_t d = *axis + 1; d < rank; ++d)
                dims.ofData(d);
        }
    }
    if (out.data.access.strides.size() != result.layout.extents.size())
        return std::nullopt;
    return out;
}

KernelPart gatherPart(const GatherOperands& operands, const Extents& space) {
    const std::vector<KernelOperand> all = {asBits(operands.result, true),
                                            asBits(operands.data, false), operands.index};
    const LoopNest nest(space, all, 0, 0);
    const auto size = static_cast<int64_t>(sizeOf(operands.result.dtype));
    const std::vector<PickedAxes::Axis>& axes = operands.picked.axes;
    int width = static_cast<int>(16 / size);
    const bool vectors = laneAccess(nest, all[0], 0, width) == LaneAccess::Vector &&
                         laneAccess(nest, all[1], 1, width) == LaneAccess::Vector &&
                         laneAccess(nest, all[2], 2, width) == LaneAccess::Uniform &&
                         std::all_of(axes.begin(), axes.end(), [&](const PickedAxes::Axis& axis) {
                             return axis.step * size % 16 == 0;
                         });
    if (!vectors)
        width = 1;
    KernelPart part;
    part.helpers = {"vectors"};
    const int64_t count = nest.count(), perBlock = int64_t{width} * defaultThreads;
    part.blocks = (count + perBlock - 1) / perBlock;
    std::string among;
    for (const PickedAxes::Axis& axis : axes)
        among += fmt::format("{}{}", among.empty() ? "" : " x ", axis.extent);
    part.comment = {fmt::format("{} elements chosen by an index among {}, {} a thread; outside: 0",
                                count, among, width)};
    const char* type = storageType(all[0].dtype);
    part.body =
        fmt::format("    const {0} first = (static_cast<{0}>(block) * {1}u + threadIdx.x) * "
                    "{2}u;\n    if (first >= {3}u)\n        return;\n",
                    nest.indexType(), defaultThreads, width, count);
    part.body += nest.split("first", "i", "    ");
    part.body += operands.picked.place(
        fmt::format("{} + ({})", all[2].pointer, nest.offset(2, "i")), "    ");
    part.body += fmt::format("    {} x[{}];\n    if (inside) {{\n", type, width);
    const std::string from = fmt::format("{} + ({}) + at", all[1].pointer, nest.offset(1, "i"));
    part.body += width == 1 ? fmt::format("        x[0] = *({});\n", from)
                            : fmt::format("        loadLanes<{}>({}, x);\n", width, from);
    part.body +=
        fmt::format("    }} else {{\n#pragma unroll\n        for (int v = 0; v < {}; ++v)\n"
                    "            x[v] = 0;\n    }}\n",
                    width);
    const std::string to = fmt::format("{} + ({})", all[0].pointer, nest.offset(0, "i"));
    part.body += width == 1 ? fmt::format("    *({}) = x[0];\n", to)
                            : fmt::format("    storeLanes<{}, false>({}, x);\n", width, to);
    return part;
}

} // namespace

EmitResult emitGather(const KernelRequest& request) {
    const char* name = "gather";
    auto view = LibraryView::make(request, {Op::Gather, Op::GatherElements, Op::GatherND});
    if (auto* reason = std::get_if<Reason>(&view))
        return finish(name, request, PartResult(*reason));
    const auto operands = operandsOf(std::get<LibraryView>(view));
    if (!operands || !picksPlaces(operands->index.dtype))
        return finish(
            name, request,
            PartResult(refusal("support", "no such axis, or indices that no kernel has")));
    return finish(
        name, request,
        PartResult(gatherPart(*operands, std::get<LibraryView>(view).output(0).layout.extents)));
}

} // namespace fuselage::gpu
