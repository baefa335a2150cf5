// SPDX-License-Identifier: Apache-2.0
#include "core/ops/reduce.h"

#include "core/ops/infer_support.h"
#include "core/ops/reduction_plan.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// --- values -------------------------------------------------------------------------------

/// One row of elements, read in order.
template <typename T> struct RowView {
    const T* first;
    const std::vector<int64_t>& offsets;

    size_t size() const { return offsets.size(); }

    T operator[](size_t i) const { return first[offsets[i]]; }
};

template <typename F> double summed(const RowView<double>& row, F&& f) {
    double sum = 0;
    for (size_t i = 0; i < row.size(); ++i)
        sum += f(row[i]);
    return sum;
}

double largest(const RowView<double>& row, double sign) {
    double best = -infinity;
    for (size_t i = 0; i < row.size(); ++i) {
        if (std::isnan(row[i]))
            return row[i];
        best = std::max(best, sign * row[i]);
    }
    return sign * best;
}

double logSumExp(const RowView<double>& row) {
    double top = largest(row, 1);
    if (std::isinf(top) || std::isnan(top))
        return top;
    return top + std::log(summed(row, [&](double x) { return std::exp(x - top); }));
}

double product(const RowView<double>& row) {
    double out = 1;
    for (size_t i = 0; i < row.size(); ++i)
        out *= row[i];
    return out;
}

double reduceFloats(Op op, const RowView<double>& row) {
    auto plain = [](double x) { return x; };
    auto square = [](double x) { return x * x; };
    switch (op) {
    case Op::ReduceSum:
        return summed(row, plain);
    case Op::ReduceMean:
        return summed(row, plain) / static_cast<double>(row.size());
    case Op::ReduceMax:
        return largest(row, 1);
    case Op::ReduceMin:
        return largest(row, -1);
    case Op::ReduceProd:
        return product(row);
    case Op::ReduceL1:
        return summed(row, [](double x) { return std::fabs(x); });
    case Op::ReduceL2:
        return std::sqrt(summed(row, square));
    case Op::ReduceSumSquare:
        return summed(row, square);
    case Op::ReduceLogSum:
        return std::log(summed(row, plain));
    default:
        return logSumExp(row);
    }
}

/// The largest or smallest number of an integer type, as int64 holds it.
int64_t limitOf(DType type, bool wantLargest) {
    if (type == DType::Bool)
        return wantLargest ? 1 : 0;
    const auto bits = static_cast<unsigned>(bitsOf(type));
    if (!isSigned(type))
        return wantLargest ? static_cast<int64_t>(~uint64_t{0} >> (64U - bits)) : 0;
    const auto largest = static_cast<int64_t>((uint64_t{1} << (bits - 1U)) - 1);
    return wantLargest ? largest : -largest - 1;
}

/// Integer reductions that stay in integers; unsigned arithmetic wraps where int64 would overflow.
/// Of nothing the largest element is the type's smallest, and the other way round.
int64_t reduceInts(Op op, DType type, const RowView<int64_t>& row) {
    auto less = [&](int64_t a, int64_t b) {
        return type == DType::UInt64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
    };
    uint64_t sum = op == Op::ReduceProd ? 1 : 0;
    int64_t best = row.size() ? row[0] : limitOf(type, op == Op::ReduceMin);
    for (size_t i = 0; i < row.size(); ++i) {
        auto x = static_cast<uint64_t>(row[i]);
        if (op == Op::ReduceMax || op == Op::ReduceMin)
            best = (op == Op::ReduceMax ? less(best, row[i]) : less(row[i], best)) ? row[i] : best;
        else if (op == Op::ReduceProd)
            sum *= x;
        else if (op == Op::ReduceSumSquare)
            sum += x * x;
        else if (op == Op::ReduceL1 && isSigned(type) && row[i] < 0)
            sum -= x;
        else
            sum += x;
    }
    if (op == Op::ReduceMax || op == Op::ReduceMin)
        return best;
    auto total = static_cast<int64_t>(sum);
    return op == Op::ReduceMean && row.size() ? total / static_cast<int64_t>(row.size()) : total;
}

bool needsFloats(Op op) {
    return op == Op::ReduceL2 || op == Op::ReduceLogSum || op == Op::ReduceLogSumExp;
}

/// The axes of a node: an attribute up to opset 17, an input after (and always for ReduceSum).
/// With noop_with_empty_axes none are none: each element is reduced by itself, so that ReduceL1
/// still takes absolute values and ReduceLogSum logarithms.
Result<std::vector<size_t>> axesOf(const Node& node, const ReferenceValue* input, size_t rank) {
    std::vector<int64_t> given = input ? intsOf(*input) : node.attributes.integers("axes");
    if (given.empty() && node.attributes.integer("noop_with_empty_axes") == 0) {
        given.resize(rank);
        std::iota(given.begin(), given.end(), 0);
    }
    auto axes = normalizedAxes(given, rank);
    if (!axes)
        return badInput(node, fmt::format("axes {} do not fit rank {}", text(given), rank));
    return std::move(*axes);
}

Outputs runReduce(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue& x = *inputs[0];
    auto axes = axesOf(node, inputAt(inputs, 1), x.extents.size());
    if (!axes)
        return failure(axes.error());
    if (x.dtype == DType::String)
        return badInput(node, "strings cannot be reduced");
    bool keep = node.attributes.integer("keepdims", 1) != 0;
    auto out = allocateResult(node, x.dtype, reducedExtents(x.extents, *axes, keep));
    if (!out)
        return failure(out.error());
    ReductionPlan plan = planReduction(x.extents, *axes);
    std::vector<double> wide;
    if (!isFloat(x.dtype) && needsFloats(node.op))
        wide.assign(x.ints.begin(), x.ints.end());
    const std::vector<double>& floats = isFloat(x.dtype) ? x.floats : wide;
    forEachRow(plan, context.threads(), [&](size_t row) {
        int64_t base = plan.bases[row];
        if (isFloat(x.dtype))
            out->floats[row] = reduceFloats(node.op, {floats.data() + base, plan.offsets});
        else if (needsFloats(node.op))
            out->ints[row] = wrapTo(x.dtype, static_cast<int64_t>(reduceFloats(
                                                 node.op, {floats.data() + base, plan.offsets})));
        else
            out->ints[row] =
                wrapTo(x.dtype, reduceInts(node.op, x.dtype, {x.ints.data() + base, plan.offsets}));
    });
    return single(std::move(out));
}

/// True when `a` beats `b`; NaN beats everything, as in numpy.
template <typename T> bool beats(bool wantMax, T a, T b) {
    if (a != a)
        return b == b;
    return wantMax ? a > b : a < b;
}

template <typename T> int64_t bestIndex(const RowView<T>& row, bool wantMax, bool last) {
    size_t best = 0;
    for (size_t i = 1; i < row.size(); ++i)
        if (beats(wantMax, row[i], row[best]) || (last && !beats(wantMax, row[best], row[i])))
            best = i;
    return static_cast<int64_t>(best);
}

Outputs runArg(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue& x = *inputs[0];
    auto axis = normalizedAxis(node.attributes.integer("axis"), x.extents.size());
    if (!axis || x.dtype == DType::String || x.extents[*axis] == 0)
        return badInput(node, fmt::format("axis {} of {} cannot be searched",
                                          node.attributes.integer("axis"), text(x.extents)));
    bool keep = node.attributes.integer("keepdims", 1) != 0;
    auto out = allocateResult(node, DType::Int64, reducedExtents(x.extents, {*axis}, keep));
    if (!out)
        return failure(out.error());
    ReductionPlan plan = planReduction(x.extents, {*axis});
    bool wantMax = node.op == Op::ArgMax;
    bool last = node.attributes.integer("select_last_index") != 0;
    forEachRow(plan, context.threads(), [&](size_t row) {
        int64_t base = plan.bases[row];
        out->ints[row] =
            isFloat(x.dtype)
                ? bestIndex(RowView<double>{x.floats.data() + base, plan.offsets}, wantMax, last)
                : bestIndex(RowView<int64_t>{x.ints.data() + base, plan.offsets}, wantMax, last);
    });
    return single(std::move(out));
}

/// CumSum and CumProd.
Outputs runCumulative(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    auto axis = inputs[1]->count() == 1 ? normalizedAxis(inputs[1]->intAt(0), x.extents.size())
                                        : std::nullopt;
    if (!axis || x.dtype == DType::String)
        return badInput(node, "axis is not a dimension of x");
    const bool isSum = node.op == Op::CumSum;
    bool exclusive = node.attributes.integer("exclusive") != 0;
    bool reverse = node.attributes.integer("reverse") != 0;
    ReductionPlan plan = planReduction(x.extents, {*axis});
    ReferenceValue out = ReferenceValue::tensor(x.dtype, x.extents);
    onElements(x, out, [&](const auto& from, auto& to) {
        using T = std::decay_t<decltype(to[0])>;
        if constexpr (!std::is_same_v<T, std::string>)
            for (int64_t base : plan.bases) {
                T folded = isSum ? T(0) : T(1);
                for (size_t i = 0; i < plan.offsets.size(); ++i) {
                    size_t k = reverse ? plan.offsets.size() - 1 - i : i;
                    auto at = static_cast<size_t>(base + plan.offsets[k]);
                    T next = from[at];
                    if constexpr (std::is_same_v<T, int64_t>) {
                        const auto a = static_cast<uint64_t>(folded);
                        const auto b = static_cast<uint64_t>(next);
                        next = wrapTo(x.dtype, static_cast<int64_t>(isSum ? a + b : a * b));
                    } else {
                        next = isSum ? next + folded : next * folded;
                    }
                    to[at] = exclusive ? folded : next;
                    folded = next;
                }
            }
    });
    return std::vector<ReferenceValue>{std::move(out)};
}

// --- shapes -------------------------------------------------------------------------------

void setReduced(InferContext& context, DType dtype, const Shape& x,
                const std::vector<size_t>& axes) {
    bool keep = context.node().attributes.integer("keepdims", 1) != 0;
    Shape out;
    for (size_t axis = 0; axis < x.size(); ++axis)
        if (std::find(axes.begin(), axes.end(), axis) == axes.end())
            out.push_back(x[axis]);
        else if (keep)
            out.push_back(1);
    setTensor(context, 0, dtype, std::move(out));
}

/// Sums and products of shape arithmetic keep their symbols.
void passReducedContents(InferContext& context) {
    const Shape* shape = shapeOf(context, 0);
    auto contents = context.contents(0);
    Op op = context.node().op;
    if (!contents || !shape || shape->size() != 1 || isFloat(dtypeOf(context, 0)) ||
        (op != Op::ReduceSum && op != Op::ReduceProd))
        return;
    Dim out = op == Op::ReduceProd ? 1 : 0;
    for (const Dim& dim : *contents)
        out = op == Op::ReduceProd ? out * dim : out + dim;
    context.setContents(0, {out});
}

void inferReduce(InferContext& context) {
    const Node& node = context.node();
    const Shape* x = shapeOf(context, 0);
    DType dtype = dtypeOf(context, 0);
    bool keep = node.attributes.integer("keepdims", 1) != 0;
    std::optional<std::vector<int64_t>> given =
        context.has(1) ? numbersOf(context, 1) : node.attributes.integers("axes");
    if (!x)
        return setTensor(context, 0, dtype, std::nullopt);
    if (!given)
        return setTensor(context, 0, dtype, keep ? std::optional(Shape(x->size())) : std::nullopt);
    if (given->empty() && node.attributes.integer("noop_with_empty_axes") != 0)
        return setSameAs(context, 0, 0);
    if (given->empty()) {
        given->resize(x->size());
        std::iota(given->begin(), given->end(), 0);
    }
    auto axes = normalizedAxes(*given, x->size());
    if (!axes) {
        context.fail(fmt::format("{}: axes {} do not fit an input of rank {}", nameOf(node.op),
                                 text(*given), x->size()));
        return setTensor(context, 0, dtype, std::nullopt);
    }
    setReduced(context, dtype, *x, *axes);
    if (axes->size() == x->size())
        passReducedContents(context);
}

void inferArg(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    auto axis = x ? checkedAxis(context, context.node().attributes.integer("axis"), x->size())
                  : std::nullopt;
    if (axis)
        setReduced(context, DType::Int64, *x, {*axis});
    else
        setTensor(context, 0, DType::Int64, std::nullopt);
}

void inferCumulative(InferContext& context) {
    setSameAs(context, 0, 0);
}

constexpr OpRow reduceRow(Op op, const char* name) {
    return {.op = op,
            .name = name,
            .minInputs = 1,
            .maxInputs = 2,
            .traits = Reduction,
            .inputs = "data axes",
            .attributes = "axes:ints keepdims:int=1 noop_with_empty_axes:int",
            .infer = inferReduce,
            .reference = onTensors<runReduce>};
}

constexpr OpRow argRow(Op op, const char* name) {
    return {.op = op,
            .name = name,
            .traits = Reduction | Discontinuous,
            .inputs = "data",
            .attributes = "axis:int=0 keepdims:int=1 select_last_index:int=0",
            .infer = inferArg,
            .reference = onTensors<runArg>};
}

constexpr OpRow cumulativeRow(Op op, const char* name, int since) {
    return {.op = op,
            .name = name,
            .since = since,
            .minInputs = 2,
            .maxInputs = 2,
            .inputs = "x axis",
            .attributes = "exclusive:int=0 reverse:int=0",
            .infer = inferCumulative,
            .reference = onTensors<runCumulative>};
}

} // namespace

std::span<const OpRow> reduceRows() {
    static constexpr OpRow rows[] = {
        reduceRow(Op::ReduceSum, "ReduceSum"),
        reduceRow(Op::ReduceMean, "ReduceMean"),
        reduceRow(Op::ReduceMax, "ReduceMax"),
        reduceRow(Op::ReduceMin, "ReduceMin"),
        reduceRow(Op::ReduceProd, "ReduceProd"),
        reduceRow(Op::ReduceL1, "ReduceL1"),
        reduceRow(Op::ReduceL2, "ReduceL2"),
        reduceRow(Op::ReduceLogSum, "ReduceLogSum"),
        reduceRow(Op::ReduceLogSumExp, "ReduceLogSumExp"),
        reduceRow(Op::ReduceSumSquare, "ReduceSumSquare"),
        argRow(Op::ArgMax, "ArgMax"),
        argRow(Op::ArgMin, "ArgMin"),
        cumulativeRow(Op::CumSum, "CumSum", 11),
        cumulativeRow(Op::CumProd, "CumProd", 26),
    };
    return rows;
}

} // namespace fuselage
