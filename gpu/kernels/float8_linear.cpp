// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear to floats of 8 bits and DequantizeLinear from them: some consecutive elements a
// thread, each times or over the scale of the tensor, of its index along an axis, or of its block.
#include "core/graph/type.h"
#include "core/ops/tensor_index.h"
#include "gpu/kernels/library_view.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

const char* formatOf(DType type) {
    switch (type) {
    case DType::Float8E4M3FN:
        return "Float8E4M3FN";
    case DType::Float8E5M2:
        return "Float8E5M2";
    case DType::Float8E4M3FNUZ:
        return "Float8E4M3FNUZ";
    case DType::Float8E5M2FNUZ:
        return "Float8E5M2FNUZ";
    default:
        return nullptr;
    }
}

bool isWide(DType type) {
    return type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16;
}

/// Operands over the elements, an axis of several blocks as two dims.
struct LinearOperands {
    bool quantises = false, saturates = true;
    Extents space;
    KernelOperand from, to, scale; ///< no pointer of the scale: `number`
    double number = 1;
};

KernelOperand operandOf(const LibraryOperand& operand, Extents strides) {
    return {
        operand.pointer, operand.layout.dtype, {0, std::move(strides)}, operand.layout.alignment};
}

/// Strides of the scale over the space, once this is divided into blocks; none: it does not fit.
std::optional<Extents> scaleStrides(const LibraryView& view, LinearOperands& out) {
    const LibraryOperand& scale = view.input(1);
    Extents& space = out.space;
    if (elementCount(scale.layout.extents) == 1)
        return Extents(space.size(), 0);
    const int64_t block = view.node().attributes.integer("block_size");
    const auto axis = normalizedAxis(view.node().attributes.integer("axis", 1), space.size());
    if (!axis)
        return std::nullopt;
    if (block == 0) {
        if (scale.layout.extents.size() != 1)
            return std::nullopt;
        Extents strides(space.size(), 0);
        strides[*axis] = scale.layout.strides[0];
        return strides;
    }
    if (scale.layout.extents.size() != space.size() || space[*axis] % block != 0)
        return std::nullopt;
    Extents strides = scale.layout.strides;
    const auto at = static_cast<ptrdiff_t>(*axis);
    space[*axis] = block;
    space.insert(space.begin() + at, scale.layout.extents[*axis]);
    strides.insert(strides.begin() + at + 1, 0);
    for (KernelOperand* operand : {&out.from, &out.to}) {
        Extents& own = operand->access.strides;
        own.insert(own.begin() + at, own[*axis] * block);
    }
    return strides;
}

std::variant<LinearOperands, Reason> operandsOf(const LibraryView& view) {
    const LibraryOperand &x = view.input(0), &scale = view.input(1), &zero = view.input(2),
                         &y = view.output(0);
    LinearOperands out;
    out.quantises = view.node().op == Op::QuantizeLinear;
    out.saturates = view.node().attributes.integer("saturate", 1) != 0;
    const DType wide = (out.quantises ? x : y).layout.dtype;
    if (formatOf((out.quantises ? y : x).layout.dtype) == nullptr || !isWide(wide) ||
        !isWide(scale.layout.dtype))
        return refusal("dtype", "not between floats and floats of 8 bits");
    if (x.pointer.empty() || y.pointer.empty() || !fitsInts(x.layout) || !fitsInts(y.layout) ||
        x.layout.extents.empty())
        return refusal("support", "an operand that is not there, one number, or 2^30 elements");
    // What is stored as a zero point has no sign that matters: 0 is all that is defined.
    for (int64_t i = 0; zero && i < elementCount(zero.layout.extents).value_or(0); ++i)
        if (!out.quantises && (!zero.contents || zero.contents->at(i) != 0))
            return refusal("support", "a zero point that may not be zero");
    out.space = x.layout.extents;
    out.from = operandOf(x, x.layout.strides);
    out.to = operandOf(y, y.layout.strides);
    auto strides = scaleStrides(view, out);
    if (!strides)
        return refusal("layout", "scales that are no walk over the elements");
    out.scale = operandOf(scale, std::move(*strides));
    if (scale.pointer.empty()) {
        if (!scale.contents || elementCount(scale.layout.extents) != 1)
            return refusal("support", "scales that are not there when it runs");
        out.number = scale.contents->at(0);
    }
    return out;
}

/// Elements from `pointer` to x[], or from y[] there; codes of 8 bits a byte each.
std::string codesIn(const char* format, const std::string& from, int width) {
    if (width == 1)
        return fmt::format("    x[0] = {}::decode(({})->bits);\n", format, from);
    return fmt::format("    unsigned codes[{0}];\n    loadWords<{1}>({2}, codes);\n#pragma unroll\n"
                       "    for (int v = 0; v < {1}; ++v)\n"
                       "        x[v] = {3}::decode((codes[v / 4] >> (v % 4 * 8)) & 0xffu);\n",
                       width / 4, width, from, format);
}

std::string codesOut(const char* format, bool saturates, const std::string& to, int width) {
    const std::string encode = fmt::format("{}::encode<{}>", format, saturates);
    if (width == 1)
        return fmt::format("    ({})->bits = static_cast<unsigned char>({}(x[0]));\n", to, encode);
    return fmt::format("    unsigned codes[{0}] = {{}};\n#pragma unroll\n"
                       "    for (int v = 0; v < {1}; ++v)\n"
                       "        codes[v / 4] |= {2}(x[v]) << (v % 4 * 8);\n"
                       "    storeWords<{1}, false>({3}, codes);\n",
                       width / 4, width, encode, to);
}

KernelPart linearPart(const LinearOperands& operands) {
    const std::vector<KernelOperand> all = {operands.to, operands.from, operands.scale};
    const LoopNest nest(operands.space, all, 0, 0);
    const bool one = operands.scale.pointer.empty();
    const auto wide = static_cast<int>(sizeOf((operands.quantises ? all[1] : all[0]).dtype));
    int width = 16 / wide;
    const bool vectors = nest.count() % width == 0 &&
                         laneAccess(nest, all[0], 0, width) == LaneAccess::Vector &&
                         laneAccess(nest, all[1], 1, width) == LaneAccess::Vector &&
                         (one || laneAccess(nest, all[2], 2, width) == LaneAccess::Uniform);
    if (!vectors)
        width = 1;
    KernelPart part;
    part.helpers = {"vectors", "float8"};
    const int64_t count = nest.count(), perBlock = int64_t{width} * defaultThreads;
    part.blocks = (count + perBlock - 1) / perBlock;
    part.comment = {fmt::format("{} elements {} floats of 8 bits, {} a thread", count,
                                operands.quantises ? "to" : "from", width)};
    const std::string from = fmt::format("{} + ({})", all[1].pointer, nest.offset(1, "i")),
                      to = fmt::format("{} + ({})", all[0].pointer, nest.offset(0, "i"));
    const char* format = formatOf((operands.quantises ? all[0] : all[1]).dtype);
    part.body = fmt::format(
        "    const {0} first = (static_cast<{0}>(block) * {1}u + threadIdx.x) "
        "* {2}u;\n    if (first >= {3}u)\n        return;\n{4}"
        "    const float scale = {5};\n    float x[{2}];\n",
        nest.indexType(), defaultThreads, width, count, nest.split("first", "i", "    "),
        one ? floatLiteral(DType::Float32, operands.number)
            : fmt::format("load({} + ({}))", all[2].pointer, nest.offset(2, "i")));
    const std::string each = fmt::format("#pragma unroll\n    for (int v = 0; v < {}; ++v)\n"
                                         "        x[v] {}= scale;\n",
                                         width, operands.quantises ? "/" : "*");
    if (operands.quantises)
        part.body += fmt::format(fmt::runtime(width == 1 ? "    x[0] = load({1});\n"
                                                         : "    loadLanes<{0}>({1}, x);\n"),
                                 width, from) +
                     each + codesOut(format, operands.saturates, to, width);
    else
        part.body += codesIn(format, from, width) + each +
                     fmt::format(fmt::runtime(width == 1 ? "    store({1}, x[0]);\n"
                                                         : "    storeLanes<{0}, false>({1}, x);\n"),
                                 width, to);
    return part;
}

} // namespace

EmitResult emitFloat8Linear(const KernelRequest& request) {
    const char* name = "float8_linear";
    auto view = LibraryView::make(request, {Op::QuantizeLinear, Op::DequantizeLinear});
    if (auto* reason = std::get_if<Reason>(&view))
        return finish(name, request, PartResult(*reason));
    auto operands = operandsOf(std::get<LibraryView>(view));
    if (auto* reason = std::get_if<Reason>(&operands))
        return finish(name, request, PartResult(*reason));
    return finish(name, request, PartResult(linearPart(std::get<LinearOperands>(operands))));
}

} // namespace fuselage::gpu
