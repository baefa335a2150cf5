// SPDX-License-Identifier: Apache-2.0
// Gather: a thread moves some consecutive elements that one index chooses. The reference stops at
// an index outside of the operand; a kernel cannot, and gives zeros there.
#include "core/graph/type.h"
#include "gpu/kernels/copy.h"
#include "gpu/kernels/library_view.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

struct GatherOperands {
    KernelOperand result, data, index; ///< over the result's dims; data without its axis
    int64_t extent = 0, step = 0;      ///< of the axis
};

std::optional<GatherOperands> operandsOf(const LibraryView& view) {
    const LibraryOperand &data = view.input(0), &index = view.input(1), &result = view.output(0);
    const auto rank = static_cast<int64_t>(data.layout.extents.size());
    int64_t axis = view.node().attributes.integer("axis", 0);
    axis += axis < 0 ? rank : 0;
    const size_t indexRank = index.layout.extents.size();
    const bool fits = axis >= 0 && axis < rank && !data.pointer.empty() && !index.pointer.empty() &&
                      !result.pointer.empty() &&
                      result.layout.extents.size() == data.layout.extents.size() - 1 + indexRank;
    if (!fits)
        return std::nullopt;
    const auto at = static_cast<size_t>(axis);
    GatherOperands out;
    out.result = {
        result.pointer, result.layout.dtype, {0, result.layout.strides}, result.layout.alignment};
    out.data = {data.pointer, data.layout.dtype, {0, {}}, data.layout.alignment};
    out.index = {index.pointer, index.layout.dtype, {0, {}}, index.layout.alignment};
    for (size_t d = 0; d < data.layout.extents.size(); ++d) {
        if (d != at) {
            out.data.access.strides.push_back(data.layout.strides[d]);
            out.index.access.strides.push_back(0);
            continue;
        }
        for (size_t i = 0; i < indexRank; ++i) {
            out.data.access.strides.push_back(0);
            out.index.access.strides.push_back(index.layout.strides[i]);
        }
    }
    out.extent = data.layout.extents[at];
    out.step = data.layout.strides[at];
    return out;
}

KernelPart gatherPart(const GatherOperands& operands, const Extents& space) {
    const std::vector<KernelOperand> all = {asBits(operands.result, true),
                                            asBits(operands.data, false), operands.index};
    const LoopNest nest(space, all, 0, 0);
    const auto size = static_cast<int64_t>(sizeOf(operands.result.dtype));
    int width = static_cast<int>(16 / size);
    auto vectors = [&] {
        return laneAccess(nest, all[0], 0, width) == LaneAccess::Vector &&
               laneAccess(nest, all[1], 1, width) == LaneAccess::Vector &&
               laneAccess(nest, all[2], 2, width) == LaneAccess::Uniform &&
               operands.step * size % 16 == 0;
    };
    if (!vectors())
        width = 1;
    KernelPart part;
    part.helpers = {"vectors"};
    const int64_t count = nest.count(), perBlock = int64_t{width} * defaultThreads;
    part.blocks = (count + perBlock - 1) / perBlock;
    part.comment = {fmt::format("{} elements chosen by an index among {}, {} a thread; outside: 0",
                                count, operands.extent, width)};
    const char* type = storageType(all[0].dtype);
    part.body =
        fmt::format("    const {0} first = (static_cast<{0}>(block) * {1}u + threadIdx.x) * "
                    "{2}u;\n    if (first >= {3}u)\n        return;\n",
                    nest.indexType(), defaultThreads, width, count);
    part.body += nest.split("first", "i", "    ");
    part.body += fmt::format("    long long at = static_cast<long long>(load({} + ({})));\n"
                             "    at += at < 0 ? {}ll : 0ll;\n    {} x[{}];\n"
                             "    if (at >= 0 && at < {}ll) {{\n",
                             all[2].pointer, nest.offset(2, "i"), operands.extent, type, width,
                             operands.extent);
    const std::string from =
        fmt::format("{} + ({}) + at * {}ll", all[1].pointer, nest.offset(1, "i"), operands.step);
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
    auto view = LibraryView::make(request, {Op::Gather});
    if (auto* reason = std::get_if<Reason>(&view))
        return finish(name, request, PartResult(*reason));
    const auto operands = operandsOf(std::get<LibraryView>(view));
    if (!operands ||
        (operands->index.dtype != DType::Int64 && operands->index.dtype != DType::Int32))
        return finish(
            name, request,
            PartResult(refusal("support", "no such axis, or indices that no kernel has")));
    return finish(
        name, request,
        PartResult(gatherPart(*operands, std::get<LibraryView>(view).output(0).layout.extents)));
}

} // namespace fuselage::gpu
