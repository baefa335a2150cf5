// SPDX-License-Identifier: Apache-2.0
// A convolution's picture as TMA's im2col mode reads it. The base of the filter goes over the
// places of the results, row by row and image by image, in steps of the convolution's strides; a
// column of pixels is as many results as a block fetches rows of a tile, from the tile's first one
// on, and a tap is an offset to all of them. So the borders cost nothing: what lies beyond the
// picture comes as zeros. Limits are those of cuTensorMapEncodeIm2col (cuda.h) and of the PTX
// manual, "im2col mode".
#include "core/graph/type.h"
#include "gpu/kernels/tma_kernel.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostStep = 8;
constexpr size_t mostPlaces = 3;

/// Of corners and of offsets.
struct Limits {
    int64_t lower, upper, offset;
};

/// By the dims of places: 1 to 3.
constexpr Limits limits[] = {{-32768, 32767, 65535}, {-128, 127, 255}, {-16, 15, 31}};

std::optional<Reason> refuseKind(const Contraction& code, const ContractionView& view) {
    const size_t places = code.window.kernel.size();
    if (code.kind != Contraction::Kind::Conv || places == 0 || places > mostPlaces)
        return refusal("support", "no convolution with one to three spatial dims");
    if (code.groups != 1)
        return refusal("support", "im2col mode goes over one group's channels");
    if (!isNarrowFloat(view.a.dtype))
        return refusal("dtype", "what lies around the picture is zero, not a zero point");
    const LoopNest rows = axisNest(view, view.m, view.batch.size(), {view.a});
    if (view.bounds.empty() && view.kCount == view.k.back() && rows.loops().size() <= 1)
        return refusal("layout", "its rows are boxes");
    return std::nullopt;
}

/// The walk along a dim of places, and the offset of the tap at `at` there.
struct Walk {
    int64_t lower, upper, step, dilation, taps;

    /// None, or what of it has no place in a map or an instruction.
    const char* beyond(const Limits& most) const {
        if (lower < most.lower || upper < most.lower || lower > most.upper || upper > most.upper)
            return "pads reach further than a corner of a tensor map";
        if (step > mostStep)
            return "a stride of more than 8";
        if ((taps - 1) * dilation > most.offset)
            return "a filter that reaches further than an offset of im2col mode";
        return nullptr;
    }
};

Walk walkOf(const SlidingWindow& window, size_t place, int64_t in, int64_t out) {
    const int64_t pad = window.padsBegin[place], step = window.strides[place];
    return {-pad, (out - 1) * step - pad - (in - 1), step, window.dilations[place],
            window.kernel[place]};
}

/// Loops of their own, where those of an operand would become one.
LoopNest apart(const Extents& extents) {
    std::vector<Loop> loops;
    for (const int64_t extent : extents)
        loops.push_back({extent, {}});
    return {std::move(loops), false};
}

/// "aAt2 * 2u": where a place or a tap lies.
std::string stepped(const std::string& name, int64_t step) {
    return step == 1 ? name : fmt::format("{} * {}u", name, step);
}

} // namespace

std::variant<TmaOperand, Reason> pixelOperand(const KernelRequest& request,
                                              const ContractionView& view, const TmaTile& tile,
                                              const TmaCluster& cluster) {
    const auto& code = std::get<Contraction>(request.program->code);
    if (auto reason = refuseKind(code, view))
        return std::move(*reason);
    const OperandLayout& x = request.inputs[code.a.operand];
    const size_t places = code.window.kernel.size();
    const auto size = static_cast<int64_t>(sizeOf(x.dtype));
    if (x.strides[1] != 1)
        return refusal("layout", "TMA wants channels innermost");
    const int64_t own = tile.m / cluster.n, lanes = tmaRowBytes / size,
                  taps = view.kCount / view.k.back();
    TmaOperand out;
    out.map.memory = {KernelArgument::Kind::Input, code.a.operand, 0};
    out.map.element = x.dtype;
    out.map.dims = {x.extents[1]};
    out.map.box = {lanes, own};
    out.map.pixels.emplace();
    out.coordinates = {fmt::format("{} * {}", taps == 1 ? "k" : "slice", lanes)};
    int64_t reach = roundUp(x.extents[1], 16 / size);
    for (size_t d = places; d-- > 0;) {
        const int64_t extent = x.extents[d + 2];
        if (auto reason = addDim(out.map, extent, extent == 1 ? reach : x.strides[d + 2], reach))
            return std::move(*reason);
        const Walk walk = walkOf(code.window, d, extent, view.m[d + 1]);
        if (const char* why = walk.beyond(limits[places - 1]))
            return refusal("support", why);
        out.map.pixels->lower.push_back(walk.lower);
        out.map.pixels->upper.push_back(walk.upper);
        out.map.pixels->steps.push_back(walk.step);
        out.coordinates.push_back(fmt::format("static_cast<int>({}) - {}",
                                              stepped(fmt::format("aAt{}", d + 1), walk.step),
                                              -walk.lower));
        out.offsets.push_back(walk.taps == 1
                                  ? "0"
                                  : fmt::format("static_cast<unsigned short>({})",
                                                stepped(fmt::format("aTap{}", d), walk.dilation)));
    }
    if (auto reason =
            addDim(out.map, x.extents[0], x.extents[0] == 1 ? reach : x.strides[0], reach))
        return std::move(*reason);
    if (auto reason = refuseStart(out.map, view.a))
        return std::move(*reason);
    out.coordinates.emplace_back("static_cast<int>(aAt0)");
    out.setup = fmt::format("                const unsigned aPixel = tileM * {}u{};\n", tile.m,
                            cluster.n == 1 ? "" : fmt::format(" + inCluster * {}u", own)) +
                apart(view.m).split("aPixel", "aAt", "                ");
    if (taps > 1)
        out.stageSetup = apart(code.window.kernel).split("tap", "aTap", "                    ");
    return out;
}

} // namespace fuselage::gpu
