// SPDX-License-Identifier: Apache-2.0
#include "core/ops/contraction_infer.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"
#include "core/ops/window.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

const char* opName(const InferContext& context) {
    return nameOf(context.node().op);
}

void checkSameType(InferContext& context, size_t a, size_t b) {
    DType left = dtypeOf(context, a), right = dtypeOf(context, b);
    if (left != DType::Undefined && right != DType::Undefined && left != right)
        context.fail(fmt::format("{}: input {} is {}, input {} is {}", opName(context), a,
                                 nameOf(left), b, nameOf(right)));
}

/// What of two equal dimensions is known.
Dim known(const Dim& a, const Dim& b) {
    return a.isNumber() || b.isUnknown() ? a : b;
}

std::optional<Shape> productShape(InferContext& context, Shape a, Shape b) {
    if (a.empty() || b.empty()) {
        context.fail(fmt::format("{}: a scalar has no matrix product", opName(context)));
        return std::nullopt;
    }
    const bool row = a.size() == 1, column = b.size() == 1;
    if (row)
        a.insert(a.begin(), 1);
    if (column)
        b.push_back(1);
    if (certainlyDifferent(a.back(), b[b.size() - 2])) {
        context.fail(fmt::format("{}: A has {} columns, B has {} rows", opName(context),
                                 a.back().text(), b[b.size() - 2].text()));
        return std::nullopt;
    }
    Shape aBatch(a.begin(), a.end() - 2), bBatch(b.begin(), b.end() - 2);
    auto out = broadcastShapes(aBatch, bBatch);
    if (!out) {
        context.fail(fmt::format("{}: batch {} does not broadcast with {}", opName(context),
                                 text(aBatch), text(bBatch)));
        return std::nullopt;
    }
    if (!row)
        out->push_back(a[a.size() - 2]);
    if (!column)
        out->push_back(b.back());
    return out;
}

void setProduct(InferContext& context, size_t a, size_t b, DType dtype) {
    const Shape *left = shapeOf(context, a), *right = shapeOf(context, b);
    std::optional<Shape> shape;
    if (left && right)
        shape = productShape(context, *left, *right);
    setTensor(context, 0, dtype, std::move(shape));
}

Shape spatialShape(const Shape& shape) {
    return {shape.begin() + 2, shape.end()};
}

/// The kernel's extents, from W or, where W is unknown, from kernel_shape.
Shape kernelOf(const InferContext& context, const Shape* w, size_t rank) {
    Extents given = context.node().attributes.integers("kernel_shape");
    Shape out = w ? spatialShape(*w) : given.empty() ? Shape(rank) : toShape(given);
    for (size_t d = 0; d < out.size() && d < given.size(); ++d)
        out[d] = known(out[d], given[d]);
    return out;
}

/// Reports a kernel_shape that W certainly has not.
void checkKernelShape(InferContext& context, const Shape& w) {
    const Extents given = context.node().attributes.integers("kernel_shape");
    const Shape window = spatialShape(w);
    for (size_t d = 0; d < std::min(given.size(), window.size()); ++d)
        if (certainlyDifferent(window[d], given[d])) {
            context.fail(fmt::format("{}: `kernel_shape` is {}, W is {}", opName(context),
                                     text(toShape(given)), text(w)));
            return;
        }
}

/// Whether X and W, as far as they are known, have a batch, channels and equally many spatial
/// dimensions, and W that of kernel_shape; reports when they certainly have not.
bool ranksFit(InferContext& context, const Shape& x, const Shape* w) {
    if (x.size() >= 3 && (!w || w->size() == x.size())) {
        if (w)
            checkKernelShape(context, *w);
        return true;
    }
    context.fail(
        fmt::format("{}: X is {}, W is {}", opName(context), text(x), w ? text(*w) : "unknown"));
    return false;
}

/// Channels come in as many equal groups as the attribute says, which is at least one.
Dim groupsOf(InferContext& context, const char* operand, const Dim& channels) {
    const int64_t groups = context.node().attributes.integer("group", 1);
    if (groups < 1 || (channels.isNumber() && channels.value() % groups != 0))
        context.fail(fmt::format("{}: the {} channels of {} do not make {} groups", opName(context),
                                 channels.text(), operand, groups));
    return groups;
}

void setConv(InferContext& context, size_t x, size_t w, DType dtype) {
    const Shape *input = shapeOf(context, x), *weights = shapeOf(context, w);
    if (!input || !ranksFit(context, *input, weights))
        return setTensor(context, 0, dtype, std::nullopt);
    const Dim groups = groupsOf(context, "X", (*input)[1]);
    const Dim channels = weights ? groups * (*weights)[1] : Dim();
    const bool overflows = weights && (*weights)[1].isNumber() && channels.isUnknown();
    if (weights)
        groupsOf(context, "Y", (*weights)[0]);
    if (overflows || certainlyDifferent(channels, (*input)[1]))
        context.fail(fmt::format("{}: X has {} channels, W has {} times {} groups", opName(context),
                                 (*input)[1].text(), (*weights)[1].text(), groups.text()));
    Shape out{(*input)[0], weights ? (*weights)[0] : Dim()};
    Shape window =
        windowShape(context, spatialShape(*input), kernelOf(context, weights, input->size() - 2));
    out.insert(out.end(), window.begin(), window.end());
    setTensor(context, 0, dtype, std::move(out));
}

/// A matrix's shape under the node's transpose flags.
Shape oriented(Shape shape, bool matrix, bool batch) {
    if (shape.size() > 2 && batch)
        std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
    if (shape.size() > 1 && matrix)
        std::swap(shape.back(), shape[shape.size() - 2]);
    return shape;
}

} // namespace

void inferMatMul(InferContext& context) {
    checkSameType(context, 0, 1);
    setProduct(context, 0, 1, dtypeOf(context, 0));
}

void inferMatMulInteger(InferContext& context) {
    setProduct(context, 0, 1, DType::Int32);
}

void inferQLinearMatMul(InferContext& context) {
    setProduct(context, 0, 3, dtypeOf(context, 7));
}

void inferFusedMatMul(InferContext& context) {
    checkSameType(context, 0, 1);
    const Shape *a = shapeOf(context, 0), *b = shapeOf(context, 1);
    auto flag = [&](const char* name) { return context.node().attributes.integer(name) != 0; };
    std::optional<Shape> shape;
    if (a && b)
        shape = productShape(context, oriented(*a, flag("transA"), flag("transBatchA")),
                             oriented(*b, flag("transB"), flag("transBatchB")));
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

void inferGemm(InferContext& context) {
    checkSameType(context, 0, 1);
    const Shape *a = shapeOf(context, 0), *b = shapeOf(context, 1);
    for (const Shape* matrix : {a, b})
        if (matrix && matrix->size() != 2) {
            context.fail(fmt::format("{}: {} is not a matrix", opName(context), text(*matrix)));
            return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
        }
    Shape left =
        a ? oriented(*a, context.node().attributes.integer("transA") != 0, false) : Shape(2);
    Shape right =
        b ? oriented(*b, context.node().attributes.integer("transB") != 0, false) : Shape(2);
    if (certainlyDifferent(left[1], right[0]))
        context.fail(fmt::format("{}: A has {} columns, B has {} rows", opName(context),
                                 left[1].text(), right[0].text()));
    Shape out{left[0], right[1]};
    const Shape* c = shapeOf(context, 2);
    if (c && !broadcastShapes(*c, out))
        context.fail(
            fmt::format("{}: C is {}, the product is {}", opName(context), text(*c), text(out)));
    setTensor(context, 0, dtypeOf(context, 0), std::move(out));
}

void inferDet(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    if (x && x->size() < 2)
        context.fail("Det: X is " + text(*x) + ", not square matrices");
    std::optional<Shape> shape;
    if (x && x->size() >= 2)
        shape = Shape(x->begin(), x->end() - 2);
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

void inferConv(InferContext& context) {
    checkSameType(context, 0, 1);
    setConv(context, 0, 1, dtypeOf(context, 0));
}

void inferConvInteger(InferContext& context) {
    setConv(context, 0, 1, DType::Int32);
}

void inferQLinearConv(InferContext& context) {
    setConv(context, 0, 3, dtypeOf(context, 7));
}

void inferConvTranspose(InferContext& context) {
    checkSameType(context, 0, 1);
    const Shape *x = shapeOf(context, 0), *w = shapeOf(context, 1);
    if (!x || !ranksFit(context, *x, w))
        return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
    if (w && certainlyDifferent((*w)[0], (*x)[1]))
        context.fail(fmt::format("ConvTranspose: X has {} channels, W has {}", (*x)[1].text(),
                                 (*w)[0].text()));
    const Dim groups = groupsOf(context, "X", (*x)[1]);
    Shape out{(*x)[0], w ? (*w)[1] * groups : Dim()};
    Shape window = transposedShape(context, spatialShape(*x), kernelOf(context, w, x->size() - 2));
    out.insert(out.end(), window.begin(), window.end());
    setTensor(context, 0, dtypeOf(context, 0), std::move(out));
}

} // namespace fuselage
