// SPDX-License-Identifier: Apache-2.0
// TopK: a block holds one row as keys in registers and takes the best of what is left, one after
// the other. A key has an element's order above and its place below, the first place largest, so
// that no two are alike.
#include "core/ops/tensor_index.h"
#include "gpu/kernels/copy.h"
#include "gpu/kernels/library_view.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostThreads = 512, mostKeys = 16; ///< of a block, of a thread
/// Rounds of a block beyond which sorting on the host is no slower.
constexpr int64_t mostPlaces = 2048;

struct TopKRow {
    KernelOperand data, values, indices; ///< over the dims beside the axis
    Extents space;                       ///< of these
    int64_t length = 0, places = 0;
    int64_t dataStep = 0, valueStep = 0, indexStep = 0; ///< along the axis
    bool largest = true;

    int64_t threads() const {
        const int64_t warps = (length + 31) / 32;
        return std::min(warps * 32, mostThreads);
    }
    int64_t keys() const { return (length + threads() - 1) / threads(); }
};

bool hasOrder(DType type) {
    return type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16 ||
           type == DType::Int32 || type == DType::Int8 || type == DType::UInt8;
}

std::variant<TopKRow, Reason> rowOf(const LibraryView& view) {
    const LibraryOperand &x = view.input(0), &k = view.input(1);
    const auto axis =
        normalizedAxis(view.node().attributes.integer("axis", -1), x.layout.extents.size());
    if (!axis || x.pointer.empty() || !k.contents || k.contents->elementCount() != 1)
        return refusal("support", "no such axis, or a number of places that is not known before");
    if (!hasOrder(x.layout.dtype))
        return refusal("dtype", fmt::format("no keys for {}", nameOf(x.layout.dtype)));
    const size_t at = *axis;
    TopKRow out;
    out.length = x.layout.extents[at];
    out.places = k.contents->intAt(0);
    out.largest = view.node().attributes.integer("largest", 1) != 0;
    if (out.places < 1 || out.places > out.length || out.places > mostPlaces ||
        out.length > mostThreads * mostKeys)
        return refusal("support", fmt::format("{} of {} elements", out.places, out.length));
    const auto along = [&](const LibraryOperand& operand, KernelOperand& to, int64_t& step) {
        to.pointer = operand.pointer;
        to.dtype = operand.layout.dtype;
        to.alignment = operand.layout.alignment;
        if (operand.pointer.empty()) { // nobody reads it
            to.access.strides.assign(out.space.size(), 0);
            return;
        }
        for (size_t d = 0; d < operand.layout.strides.size(); ++d)
            if (d == at)
                step = operand.layout.strides[d];
            else
                to.access.strides.push_back(operand.layout.strides[d]);
    };
    for (size_t d = 0; d < x.layout.extents.size(); ++d)
        if (d != at)
            out.space.push_back(x.layout.extents[d]);
    along(x, out.data, out.dataStep);
    along(view.output(0), out.values, out.valueStep);
    along(view.output(1), out.indices, out.indexStep);
    return out;
}

/// What compares as the elements do: NaN, whichever, is the largest number, and -0 is 0.
constexpr const char* keyFunctions =
    "__device__ __forceinline__ unsigned @order(float x) {\n"
    "    if (x != x)\n        return 0xffffffffu;\n"
    "    const unsigned bits = bitsOf(x + 0.0f);\n"
    "    return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;\n}\n\n"
    "__device__ __forceinline__ unsigned @order(int x) {\n"
    "    return static_cast<unsigned>(x) ^ 0x80000000u;\n}\n\n";

KernelPart topKPart(const TopKRow& row) {
    const std::vector<KernelOperand> all = {asBits(row.values, true), row.indices,
                                            asBits(row.data, false), row.data};
    const LoopNest nest(row.space, all, 0, 3);
    KernelPart part;
    part.helpers = {"reduce"};
    part.threads = static_cast<uint32_t>(row.threads());
    part.blocks = nest.count();
    part.functions = keyFunctions;
    part.comment = {fmt::format("{} {} of {} elements: a block a row, {} keys a thread, a round a "
                                "place",
                                row.places, row.largest ? "largest" : "smallest", row.length,
                                row.keys())};
    const char* offset = nest.offsetType();
    part.body = fmt::format("    const {0} row = static_cast<{0}>(block);\n", nest.indexType());
    part.body += nest.split("row", "i", "    ");
    part.body += fmt::format(
        "    const {} from = {};\n    unsigned long long keys[{}], mine = 0ull;\n"
        "#pragma unroll\n    for (int i = 0; i < {}; ++i) {{\n"
        "        const unsigned at = threadIdx.x + {}u * i;\n        keys[i] = 0ull;\n"
        "        if (at < {}u) {{\n"
        "            const unsigned order = {}@order(load({} + from + at * {}ll));\n"
        "            keys[i] = (static_cast<unsigned long long>(order) << 32) | (0xffffffffu - at);"
        "\n        }}\n        mine = maximum(mine, keys[i]);\n    }}\n",
        offset, nest.offset(3, "i"), row.keys(), row.keys(), row.threads(), row.length,
        row.largest ? "" : "~", row.data.pointer, row.dataStep);
    const int64_t warps = row.threads() / 32;
    if (warps > 1) {
        part.sharedBytes = static_cast<uint32_t>(2 * warps * 8);
        part.body += "    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
                     "    unsigned long long* const partial = "
                     "reinterpret_cast<unsigned long long*>(sharedMemory);\n";
    }
    part.body += fmt::format(
        "    for (int place = 0; place < {}; ++place) {{\n"
        "        const unsigned long long best = {};\n        if (mine == best) {{\n"
        "            const unsigned at = 0xffffffffu - static_cast<unsigned>(best);\n",
        row.places,
        warps > 1 ? fmt::format("reduceBlock<Largest, {}>(mine, partial + place % 2 * {})",
                                row.threads(), warps)
                  : std::string("reduceWarp<Largest>(mine)"));
    if (!row.values.pointer.empty())
        part.body += fmt::format("            *({} + ({}) + place * {}ll) = *({} + from + at * "
                                 "{}ll);\n",
                                 all[0].pointer, nest.offset(0, "i"), row.valueStep, all[2].pointer,
                                 row.dataStep);
    if (!row.indices.pointer.empty())
        part.body += fmt::format("            *({} + ({}) + place * {}ll) = static_cast<{}>(at);\n",
                                 row.indices.pointer, nest.offset(1, "i"), row.indexStep,
                                 storageType(row.indices.dtype));
    part.body += fmt::format("            mine = 0ull;\n#pragma unroll\n"
                             "            for (int i = 0; i < {}; ++i) {{\n"
                             "                keys[i] = keys[i] == best ? 0ull : keys[i];\n"
                             "                mine = maximum(mine, keys[i]);\n            }}\n"
                             "        }}\n    }}\n",
                             row.keys());
    return part;
}

} // namespace

EmitResult emitTopK(const KernelRequest& request) {
    const char* name = "topk";
    auto view = LibraryView::make(request, {Op::TopK});
    if (auto* reason = std::get_if<Reason>(&view))
        return finish(name, request, PartResult(*reason));
    auto row = rowOf(std::get<LibraryView>(view));
    if (auto* reason = std::get_if<Reason>(&row))
        return finish(name, request, PartResult(*reason));
    return finish(name, request, PartResult(topKPart(std::get<TopKRow>(row))));
}

} // namespace fuselage::gpu
