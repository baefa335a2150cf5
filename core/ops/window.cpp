// SPDX-License-Identifier: Apache-2.0
#include "core/ops/window.h"

#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

// Keeps products of a few of these inside 64 bits.
constexpr int64_t maxParameter = int64_t(1) << 31;

/// The attributes that all windows have, with ranks checked.
struct Parameters {
    Extents strides, dilations, pads;
    std::string autoPad;
    bool ceil = false;
    std::string problem; ///< empty when they are usable
};

Extents listOr(const Node& node, const char* name, size_t count, int64_t fallback) {
    Extents out = node.attributes.integers(name);
    return out.empty() ? Extents(count, fallback) : out;
}

std::string checkList(const char* name, const Extents& list, size_t count, int64_t low) {
    if (list.size() != count)
        return fmt::format("`{}` has {} numbers, {} are needed", name, list.size(), count);
    for (int64_t value : list)
        if (value < low || value > maxParameter)
            return fmt::format("`{}` holds {}", name, value);
    return {};
}

bool isSame(const std::string& autoPad) {
    return autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
}

bool isAutoPad(const std::string& autoPad) {
    return isSame(autoPad) || autoPad == "NOTSET" || autoPad == "VALID" || autoPad.empty();
}

Parameters parametersOf(const Node& node, size_t rank) {
    Parameters out;
    out.strides = listOr(node, "strides", rank, 1);
    out.dilations = listOr(node, "dilations", rank, 1);
    out.pads = listOr(node, "pads", 2 * rank, 0);
    out.autoPad = node.attributes.string("auto_pad", "NOTSET");
    out.ceil = node.attributes.integer("ceil_mode") != 0;
    if (!isAutoPad(out.autoPad))
        out.problem = fmt::format(
            "`auto_pad` is \"{}\", not NOTSET, SAME_UPPER, SAME_LOWER or VALID", out.autoPad);
    for (const std::string& problem : {checkList("strides", out.strides, rank, 1),
                                       checkList("dilations", out.dilations, rank, 1),
                                       checkList("pads", out.pads, 2 * rank, -maxParameter)})
        if (out.problem.empty())
            out.problem = problem;
    return out;
}

/// True when all dimensions that are numbers lie between `low` and what arithmetic allows.
bool numbersBetween(const Shape& shape, int64_t low) {
    return std::all_of(shape.begin(), shape.end(), [&](const Dim& dim) {
        return !dim.isNumber() || (dim.value() >= low && dim.value() <= maxParameter);
    });
}

Dim smaller(const Dim& a, const Dim& b) {
    return a.isNumber() && b.isNumber() ? Dim(std::min(a.value(), b.value())) : Dim();
}

/// Splits a total padding over both ends.
void splitPads(int64_t total, bool upper, int64_t& begin, int64_t& end) {
    begin = upper ? total / 2 : total - total / 2;
    end = total - begin;
}

int64_t productOf(const Extents& extents) {
    return countOf(extents, 0, extents.size());
}

/// Numbers of one spatial dimension: output extent and both paddings.
struct Span1d {
    int64_t output, begin, end;
};

Span1d slide(const Parameters& p, size_t d, size_t rank, int64_t input, int64_t kernel) {
    const int64_t stride = p.strides[d];
    const int64_t reach = (kernel - 1) * p.dilations[d] + 1;
    if (isSame(p.autoPad)) {
        Span1d out{(input + stride - 1) / stride, 0, 0};
        int64_t total = std::max<int64_t>(0, (out.output - 1) * stride + reach - input);
        splitPads(total, p.autoPad == "SAME_UPPER", out.begin, out.end);
        return out;
    }
    Span1d out{0, 0, 0};
    if (p.autoPad != "VALID") {
        out.begin = p.pads[d];
        out.end = p.pads[rank + d];
    }
    const int64_t room = input + out.begin + out.end - reach;
    if (room < 0)
        return out;
    out.output = (room + (p.ceil ? stride - 1 : 0)) / stride + 1;
    // The last window must start inside the input or the padding before it.
    if (p.ceil && (out.output - 1) * stride >= input + out.begin)
        --out.output;
    return out;
}

} // namespace

int64_t WindowGeometry::kernelCount() const {
    return productOf(kernel);
}

int64_t WindowGeometry::inputCount() const {
    return productOf(input);
}

int64_t WindowGeometry::outputCount() const {
    return productOf(output);
}

Result<WindowGeometry> windowGeometry(const Node& node, const Extents& input,
                                      const Extents& kernel) {
    const size_t rank = input.size();
    Parameters p = parametersOf(node, rank);
    if (p.problem.empty())
        p.problem = checkList("kernel_shape", kernel, rank, 1);
    if (!p.problem.empty())
        return badInput(node, p.problem);
    WindowGeometry out{input, kernel, p.strides, p.dilations, {}, {}, {}};
    for (size_t d = 0; d < rank; ++d) {
        Span1d at = slide(p, d, rank, input[d], kernel[d]);
        out.output.push_back(at.output);
        out.padsBegin.push_back(at.begin);
        out.padsEnd.push_back(at.end);
        if (at.output <= 0 && input[d] > 0)
            return badInput(node, fmt::format("a window of {} does not fit into {}", text(kernel),
                                              text(input)));
    }
    if (!elementCount(out.output) || !elementCount(kernel))
        return badInput(node, "window of " + text(kernel) + " is too large");
    return out;
}

Result<WindowGeometry> transposedGeometry(const Node& node, const Extents& input,
                                          const Extents& kernel) {
    const size_t rank = input.size();
    Parameters p = parametersOf(node, rank);
    Extents extra = listOr(node, "output_padding", rank, 0);
    Extents wanted = node.attributes.integers("output_shape");
    // Some files give the whole shape, batch and channels included.
    if (wanted.size() == rank + 2)
        wanted.erase(wanted.begin(), wanted.begin() + 2);
    std::string problem = p.problem;
    if (problem.empty())
        problem = checkList("kernel_shape", kernel, rank, 1);
    if (problem.empty())
        problem = checkList("output_padding", extra, rank, 0);
    if (problem.empty() && !wanted.empty())
        problem = checkList("output_shape", wanted, rank, 0);
    if (!problem.empty())
        return badInput(node, problem);
    WindowGeometry out{{}, kernel, p.strides, p.dilations, {}, {}, input};
    for (size_t d = 0; d < rank; ++d) {
        int64_t full =
            p.strides[d] * (input[d] - 1) + extra[d] + (kernel[d] - 1) * p.dilations[d] + 1;
        int64_t begin = p.pads[d], end = p.pads[rank + d], size = full - begin - end;
        if (!wanted.empty() || isSame(p.autoPad)) {
            size = wanted.empty() ? input[d] * p.strides[d] : wanted[d];
            splitPads(std::max<int64_t>(0, full - size), p.autoPad == "SAME_UPPER", begin, end);
            if (wanted.empty())
                size = full - begin - end;
        } else if (p.autoPad == "VALID") {
            begin = end = 0;
            size = full;
        }
        if (size < 0)
            return badInput(node, "pads are larger than the result");
        out.input.push_back(size);
        out.padsBegin.push_back(begin);
        out.padsEnd.push_back(end);
    }
    if (!elementCount(out.input) || !elementCount(kernel))
        return badInput(node, "window of " + text(kernel) + " is too large");
    return out;
}

void windowOffsets(const WindowGeometry& g, int64_t kernelPosition, int64_t first,
                   std::span<int64_t> offsets) {
    if (offsets.empty()) // an output without pixels has no first one
        return;
    const size_t rank = g.input.size();
    Extents base(rank), at(rank), strides = rowMajorStrides(g.input);
    for (size_t d = rank; d-- > 0;) {
        base[d] = (kernelPosition % g.kernel[d]) * g.dilations[d] - g.padsBegin[d];
        kernelPosition /= g.kernel[d];
        at[d] = first % g.output[d];
        first /= g.output[d];
    }
    for (int64_t& offset : offsets) {
        offset = 0;
        for (size_t d = 0; d < rank && offset >= 0; ++d) {
            int64_t position = at[d] * g.strides[d] + base[d];
            offset = position >= 0 && position < g.input[d] ? offset + position * strides[d] : -1;
        }
        for (size_t d = rank; d-- > 0;) {
            if (++at[d] < g.output[d])
                break;
            at[d] = 0;
        }
    }
}

Shape windowShape(InferContext& context, const Shape& input, const Shape& kernel) {
    const size_t rank = input.size();
    Parameters p = parametersOf(context.node(), rank);
    if (p.problem.empty() && kernel.size() != rank)
        p.problem = fmt::format("the kernel has {} dimensions, the input {}", kernel.size(), rank);
    if (p.problem.empty() && !(numbersBetween(kernel, 1) && numbersBetween(input, 0)))
        p.problem = fmt::format("a window of {} over {}", text(kernel), text(input));
    if (!p.problem.empty()) {
        context.fail(fmt::format("{}: {}", nameOf(context.node().op), p.problem));
        return Shape(rank);
    }
    Shape out(rank);
    for (size_t d = 0; d < rank; ++d) {
        const Dim stride = p.strides[d];
        if (input[d].isNumber() && kernel[d].isNumber()) {
            out[d] = slide(p, d, rank, input[d].value(), kernel[d].value()).output;
            if (out[d] == Dim(0) && input[d].value() > 0)
                context.fail(fmt::format("{}: a window of {} does not fit into {}",
                                         nameOf(context.node().op), text(kernel), text(input)));
        } else if (isSame(p.autoPad)) {
            out[d] = Dim::ceilDivide(input[d], stride);
        } else {
            bool padded = p.autoPad != "VALID";
            Dim pads = padded ? Dim(p.pads[d] + p.pads[rank + d]) : Dim(0);
            Dim reach = (kernel[d] - 1) * Dim(p.dilations[d]) + 1;
            Dim room = input[d] + pads - reach;
            // Rounding up may start a window beyond the input unless the window reaches further.
            Dim spare = reach - stride - (padded ? Dim(p.pads[rank + d]) : Dim(0));
            if (!p.ceil || stride == Dim(1))
                out[d] = Dim::divide(room, stride) + 1;
            else if (spare.isNumber() && spare.value() >= 0)
                out[d] = Dim::ceilDivide(room, stride) + 1;
        }
    }
    return out;
}

Shape transposedShape(InferContext& context, const Shape& input, const Shape& kernel) {
    const size_t rank = input.size();
    const Node& node = context.node();
    Parameters p = parametersOf(node, rank);
    Extents extra = listOr(node, "output_padding", rank, 0);
    Extents wanted = node.attributes.integers("output_shape");
    if (wanted.size() == rank + 2)
        wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (p.problem.empty())
        p.problem = checkList("output_padding", extra, rank, 0);
    if (p.problem.empty() && !wanted.empty())
        p.problem = checkList("output_shape", wanted, rank, 0);
    if (p.problem.empty() && kernel.size() != rank)
        p.problem = fmt::format("the kernel has {} dimensions, the input {}", kernel.size(), rank);
    if (!p.problem.empty()) {
        context.fail(fmt::format("ConvTranspose: {}", p.problem));
        return Shape(rank);
    }
    Shape out(rank);
    for (size_t d = 0; d < rank; ++d) {
        Dim full = Dim(p.strides[d]) * (input[d] - 1) + extra[d] +
                   (kernel[d] - 1) * Dim(p.dilations[d]) + 1;
        if (!wanted.empty())
            out[d] = wanted[d];
        else if (isSame(p.autoPad) && input[d].isNumber() && full.isNumber())
            out[d] = smaller(input[d] * Dim(p.strides[d]), full);
        else if (isSame(p.autoPad))
            out[d] = p.strides[d] == 1 ? input[d] : Dim();
        else if (p.autoPad == "VALID")
            out[d] = full;
        else
            out[d] = full - Dim(p.pads[d] + p.pads[rank + d]);
    }
    return out;
}

} // namespace fuselage
