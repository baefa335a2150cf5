// SPDX-License-Identifier: Apache-2.0
#include "core/ops/infer_support.h"

#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

DType dtypeOf(const InferContext& context, size_t input) {
    return context.has(input) ? context.input(input).dtype : DType::Undefined;
}

const Shape* shapeOf(const InferContext& context, size_t input) {
    if (!context.has(input) || !context.input(input).shape)
        return nullptr;
    return &*context.input(input).shape;
}

void setTensor(InferContext& context, size_t output, DType dtype, std::optional<Shape> shape) {
    if (output < context.outputCount())
        context.setOutput(output, {TypeKind::Tensor, dtype, std::move(shape)});
}

void setSameAs(InferContext& context, size_t output, size_t input) {
    if (output < context.outputCount() && context.has(input))
        context.setOutput(output, context.input(input));
}

std::optional<std::vector<int64_t>> numbersOf(const InferContext& context, size_t input) {
    if (!context.has(input))
        return std::nullopt;
    const auto contents = context.contents(input);
    if (!contents)
        return std::nullopt;
    std::vector<int64_t> out;
    for (const Dim& dim : *contents) {
        if (!dim.isNumber())
            return std::nullopt;
        out.push_back(dim.value());
    }
    return out;
}

std::optional<Shape> partialContents(const InferContext& context, size_t input) {
    if (!context.has(input))
        return std::nullopt;
    if (auto contents = context.contents(input))
        return contents;
    const Shape* shape = shapeOf(context, input);
    if (!shape || shape->size() > 1)
        return std::nullopt;
    const Dim count = shape->empty() ? Dim(1) : shape->front();
    if (!count.isNumber() || count.value() < 0 || count.value() > maxContents)
        return std::nullopt;
    return Shape(static_cast<size_t>(count.value()));
}

std::optional<int64_t> scalarOf(const InferContext& context, size_t input,
                                std::optional<int64_t> fallback) {
    if (!context.has(input))
        return fallback;
    const auto numbers = numbersOf(context, input);
    return numbers && !numbers->empty() ? std::optional(numbers->front()) : std::nullopt;
}

std::optional<size_t> checkedAxis(InferContext& context, int64_t axis, size_t rank) {
    auto out = normalizedAxis(axis, rank);
    if (!out)
        context.fail(fmt::format("axis {} is out of range for rank {}", axis, rank));
    return out;
}

void passContents(InferContext& context, size_t input, size_t output) {
    if (auto contents = context.contents(input))
        context.setContents(output, std::move(*contents));
}

Dim productOf(const Shape& shape, size_t begin, size_t end) {
    Dim product = 1;
    for (size_t i = begin; i < end; ++i)
        product = product * shape[i];
    return product;
}

namespace {

/// Where a reshape has one dimension to work out: everything else cancels against the input.
Dim remainder(InferContext& context, Shape left, const Shape& right) {
    Dim divisor = 1;
    for (const Dim& dim : right) {
        auto same = std::find(left.begin(), left.end(), dim);
        if (same != left.end())
            left.erase(same);
        else
            divisor = divisor * dim;
    }
    const Dim total = productOf(left, 0, left.size());
    if (divisor == Dim(0))
        return {}; // what is unknown is not -1
    if (total.isNumber() && divisor.isNumber() && total.value() % divisor.value() != 0) {
        context.fail(fmt::format("{} elements do not divide into rows of {}", total.value(),
                                 divisor.value()));
        return {};
    }
    return Dim::divide(total, divisor);
}

} // namespace

Shape reshapedShape(InferContext& context, const Shape* from, const Shape& target, bool allowZero) {
    Shape out(target.size());
    Shape rest = from ? *from : Shape{};
    std::vector<size_t> open; // dimensions that follow from the element count
    std::vector<size_t> copied;
    Shape given;
    const auto fail = [&](const std::string& why) {
        const std::string count = from ? productOf(*from, 0, from->size()).text() : "all";
        context.fail(
            fmt::format("{} elements cannot be reshaped to {}{}", count, text(target), why));
    };
    for (size_t i = 0; i < target.size(); ++i) {
        const Dim& dim = target[i];
        if (dim.isUnknown() || dim == Dim(-1)) {
            open.push_back(i);
        } else if (dim == Dim(0) && !allowZero) {
            if (from && i < from->size()) {
                out[i] = (*from)[i];
                copied.push_back(i);
            } else if (from) {
                context.fail(fmt::format("dimension {} is copied from an input of rank {}", i,
                                         from->size()));
            }
        } else {
            out[i] = dim;
            given.push_back(dim);
        }
    }
    const auto workedOut = std::count(target.begin(), target.end(), Dim(-1));
    if (workedOut > 1)
        fail(": only one size can be -1");
    const bool makesNothing = std::find(out.begin(), out.end(), Dim(0)) != out.end();
    if (workedOut == 1 && makesNothing) {
        fail(fmt::format(": -1 beside a size of 0 {}may be anything",
                         copied.empty() ? "" : "that is copied "));
        return out;
    }
    // Copied dimensions cancel even when they are unknown.
    for (auto i = copied.rbegin(); i != copied.rend(); ++i)
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*i));
    if (!from)
        return out;
    if (open.size() == 1) {
        out[open.front()] = remainder(context, std::move(rest), given);
    } else if (open.empty()) {
        const Dim before = productOf(rest, 0, rest.size());
        const Dim after = productOf(given, 0, given.size());
        const bool copiesNothing =
            std::any_of(copied.begin(), copied.end(), [&](size_t i) { return out[i] == Dim(0); });
        if (before.isNumber() && after.isNumber() && before.value() != after.value() &&
            !copiesNothing)
            fail(before == Dim(0) && !copied.empty()
                     ? fmt::format(": 0 copies, which makes it {}", text(out))
                     : "");
    }
    return out;
}

Type commonType(const Type& a, const Type& b) {
    Type out = a;
    if (a.dtype != b.dtype)
        out.dtype = DType::Undefined;
    if (!a.shape || !b.shape || a.rank() != b.rank()) {
        out.shape.reset();
        return out;
    }
    for (size_t i = 0; i < a.rank(); ++i)
        if (!((*a.shape)[i] == (*b.shape)[i]))
            (*out.shape)[i] = Dim::unknown();
    return out;
}

} // namespace fuselage
