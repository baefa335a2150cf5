// SPDX-License-Identifier: Apache-2.0
// The steps that sum or compare: products, convolutions, pools, reductions.
#include "core/support/text.h"
#include "tests/bodies/body_writer.h"

#include <fmt/format.h>

namespace fuselage::bodies {

namespace {

struct Windows {
    std::string attributes; ///< kernel_shape, strides, pads and what differs from its default
    Extents kernel, results;
};

struct WindowForms {
    bool dilates = false, ceils = false;
};

/// One window for each spatial dim that fits into it.
Windows windowsOver(testing_support::Choices& choices, const Extents& spatial, WindowForms forms) {
    Windows out;
    Extents strides, begins, ends, dilations;
    const bool even = !choices.oneIn(4), dilates = forms.dilates && choices.oneIn(4);
    const bool ceils = forms.ceils && choices.oneIn(4);
    for (int64_t extent : spatial) {
        const int64_t kernel = std::min(extent, 1 + choices.below(3));
        const int64_t dilation = dilates && 2 * (kernel - 1) < extent ? 2 : 1;
        const int64_t begin = kernel > 1 ? choices.below(2) : 0;
        const int64_t end = even ? begin : kernel > 1 ? choices.below(2) : 0;
        const int64_t stride = 1 + choices.below(2);
        const int64_t room = extent + begin + end - (dilation * (kernel - 1) + 1);
        int64_t results = room / stride + 1;
        if (ceils && room % stride != 0 && results * stride < extent + begin)
            ++results; // the last window begins inside
        strides.push_back(stride);
        begins.push_back(begin);
        ends.push_back(end);
        dilations.push_back(dilation);
        out.kernel.push_back(kernel);
        out.results.push_back(results);
    }
    begins.insert(begins.end(), ends.begin(), ends.end());
    out.attributes = fmt::format("kernel_shape=[{}], strides=[{}], pads=[{}]", listed(out.kernel),
                                 listed(strides), listed(begins));
    if (dilates)
        out.attributes += fmt::format(", dilations=[{}]", listed(dilations));
    if (ceils)
        out.attributes += ", ceil_mode=1";
    return out;
}

Extents spatialOf(const Extents& extents) {
    return {extents.begin() + 2, extents.end()};
}

Extents joinedExtents(Extents head, const Extents& tail) {
    head.insert(head.end(), tail.begin(), tail.end());
    return head;
}

} // namespace

void BodyWriter::anchor() {
    if (m_stored)
        return storedAnchor();
    const size_t before = m_lines.size();
    switch (below(12)) {
    case 0:
    case 1:
        matMul();
        break;
    case 2:
        conv();
        break;
    case 3:
        gemm();
        break;
    case 4:
        convTranspose();
        break;
    case 5:
        pool();
        break;
    case 6:
        reduce();
        break;
    case 7:
        softmax();
        break;
    case 8:
    case 9:
        attention();
        break;
    case 10:
        instanceNorm();
        break;
    default:
        layerNorm();
    }
    if (m_lines.size() == before)
        matMul();
}

void BodyWriter::matMul() {
    const Known x = m_values.back();
    if (x.extents.empty())
        return;
    static const std::vector<int64_t> widths{4, 6, 8, 1, 12, 16, 5};
    const int64_t width = m_choices.pick(widths);
    const size_t rank = x.extents.size();
    if (rank >= 2 && oneIn(4)) { // the value is on the right
        const Known left = operand({width, x.extents[rank - 2]});
        Extents extents = x.extents;
        extents[rank - 2] = width;
        return add(fmt::format("MatMul({}, {})", left.name, x.name), std::move(extents));
    }
    Extents weight{x.extents.back(), width};
    if (rank > 2 && oneIn(4)) // one matrix for each of the batch
        for (size_t d = rank - 2; d-- > 0;)
            weight.insert(weight.begin(), oneIn(3) ? 1 : x.extents[d]);
    const Known right = operand(weight);
    Extents extents = x.extents;
    extents.back() = width;
    add(fmt::format("MatMul({}, {})", x.name, right.name), std::move(extents));
}

void BodyWriter::gemm() {
    const Known x = m_values.back();
    if (x.extents.size() != 2)
        return;
    static const std::vector<int64_t> widths{4, 6, 8, 1, 3};
    const int64_t width = m_choices.pick(widths);
    const bool transA = oneIn(3), transB = oneIn(2);
    const int64_t m = x.extents[transA ? 1 : 0], k = x.extents[transA ? 0 : 1];
    const Known w = operand(transB ? Extents{width, k} : Extents{k, width});
    std::string bias;
    if (!oneIn(3))
        bias = ", " + broadcastOperand({m, width}).name;
    const char* alpha = oneIn(3) ? "0.5" : "1.0";
    const char* beta = oneIn(3) ? "2.0" : "1.0";
    add(fmt::format("Gemm<transA={}, transB={}, alpha={}, beta={}>({}, {}{})", transA ? 1 : 0,
                    transB ? 1 : 0, alpha, beta, x.name, w.name, bias),
        {m, width});
}

void BodyWriter::conv() {
    const Known x = m_values.back();
    if (x.extents.size() < 3 || x.extents.size() > 5)
        return;
    const Windows windows = windowsOver(m_choices, spatialOf(x.extents), {.dilates = true});
    const int64_t channels = x.extents[1];
    int64_t groups = 1;
    if (oneIn(3))
        groups = channels % 2 == 0 && oneIn(2) ? 2 : channels;
    const int64_t results = groups * (1 + below(4));
    const Known w = operand(joinedExtents({results, channels / groups}, windows.kernel));
    const std::string bias = oneIn(2) ? ", " + operand({results}).name : "";
    add(fmt::format("Conv<group={}, {}>({}, {}{})", groups, windows.attributes, x.name, w.name,
                    bias),
        joinedExtents({x.extents[0], results}, windows.results));
}

void BodyWriter::convTranspose() {
    const Known x = m_values.back();
    if (x.extents.size() != 4)
        return;
    const int64_t channels = x.extents[1], results = 1 + below(4), kernel = 1 + below(3);
    const int64_t stride = 1 + below(2);
    const Known w = operand({channels, results, kernel, kernel});
    const std::string bias = oneIn(2) ? ", " + operand({results}).name : "";
    Extents extents{x.extents[0], results};
    for (size_t d : {2U, 3U})
        extents.push_back((x.extents[d] - 1) * stride + kernel);
    add(fmt::format("ConvTranspose<kernel_shape=[{0},{0}], strides=[{1},{1}]>({2}, {3}{4})", kernel,
                    stride, x.name, w.name, bias),
        std::move(extents));
}

void BodyWriter::pool() {
    const Known x = m_values.back();
    if (x.extents.size() < 3 || x.extents.size() > 5)
        return;
    if (oneIn(4)) {
        Extents extents(x.extents.size(), 1);
        extents[0] = x.extents[0];
        extents[1] = x.extents[1];
        return add(fmt::format("Global{}Pool({})", oneIn(4) ? "Max" : "Average", x.name),
                   std::move(extents));
    }
    const bool average = oneIn(2);
    const Windows windows =
        windowsOver(m_choices, spatialOf(x.extents), {.dilates = !average, .ceils = true});
    add(fmt::format("{}<{}{}>({})", average ? "AveragePool" : "MaxPool",
                    average && oneIn(2) ? "count_include_pad=1, " : "", windows.attributes, x.name),
        joinedExtents({x.extents[0], x.extents[1]}, windows.results));
}

void BodyWriter::maxPool() {
    const Known x = m_values.back();
    if (x.extents.size() < 3 || x.extents.size() > 5)
        return;
    const Windows windows =
        windowsOver(m_choices, spatialOf(x.extents), {.dilates = true, .ceils = true});
    add(fmt::format("MaxPool<{}>({})", windows.attributes, x.name),
        joinedExtents({x.extents[0], x.extents[1]}, windows.results));
}

void BodyWriter::reduce() {
    static const std::vector<std::string> ops{"ReduceMean", "ReduceSum",       "ReduceMax",
                                              "ReduceL1",   "ReduceSumSquare", "ReduceMin",
                                              "ReduceL2",   "ReduceLogSumExp"};
    const Known x = m_values.back();
    if (x.extents.empty())
        return;
    const size_t axis = axisOf(x);
    const bool keep = oneIn(2);
    Extents extents = x.extents;
    if (keep)
        extents[axis] = 1;
    else
        extents.erase(extents.begin() + static_cast<ptrdiff_t>(axis));
    const std::string& op = m_choices.pick(ops);
    if (op == "ReduceSum")
        return add(fmt::format("ReduceSum<keepdims={}>({}, {})", keep ? 1 : 0, x.name,
                               integers({static_cast<int64_t>(axis)})),
                   std::move(extents));
    add(fmt::format("{}<axes=[{}], keepdims={}>({})", op, axis, keep ? 1 : 0, x.name),
        std::move(extents));
}

void BodyWriter::softmax() {
    const Known x = m_values.back();
    if (x.extents.empty())
        return;
    add(fmt::format("{}<axis={}>({})", oneIn(4) ? "LogSoftmax" : "Softmax", axisOf(x), x.name),
        x.extents);
}

void BodyWriter::instanceNorm() {
    const Known x = m_values.back();
    if (x.extents.size() < 3)
        return;
    const Known scale = operand({x.extents[1]}), bias = operand({x.extents[1]});
    add(fmt::format("InstanceNormalization<epsilon=0.1>({}, {}, {})", x.name, scale.name,
                    bias.name),
        x.extents);
}

void BodyWriter::layerNorm() {
    const Known x = m_values.back();
    if (x.extents.empty() || x.extents.back() < 4)
        return;
    const Known scale = operand({x.extents.back()});
    const std::string bias = oneIn(2) ? ", " + operand({x.extents.back()}).name : "";
    add(fmt::format("LayerNormalization<axis=-1, epsilon=0.1>({}, {}{})", x.name, scale.name, bias),
        x.extents);
}

} // namespace fuselage::bodies
