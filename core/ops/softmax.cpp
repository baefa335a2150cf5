// SPDX-License-Identifier: Apache-2.0
#include "core/ops/softmax.h"

#include "core/ops/infer_support.h"
#include "core/ops/reduction_plan.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

double largestOf(const double* first, int64_t step, int64_t count) {
    double top = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < count; ++i)
        top = std::max(top, first[i * step]);
    return top;
}

void logSoftmaxRow(double* first, int64_t step, int64_t count) {
    double top = largestOf(first, step, count), sum = 0;
    for (int64_t i = 0; i < count; ++i)
        sum += std::exp(first[i * step] - top);
    double shift = top + std::log(sum);
    for (int64_t i = 0; i < count; ++i)
        first[i * step] -= shift;
}

void hardmaxRow(double* first, int64_t step, int64_t count) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; ++i)
        if (first[i * step] > first[best * step])
            best = i;
    for (int64_t i = 0; i < count; ++i)
        first[i * step] = i == best ? 1.0 : 0.0;
}

/// Applies a function to every row along the node's axis.
template <typename Function>
Outputs alongAxis(const Node& node, ReferenceInputs inputs, ReferenceContext& context,
                  const Function& function) {
    const ReferenceValue& x = *inputs[0];
    auto axis = normalizedAxis(node.attributes.integer("axis", -1), x.extents.size());
    if (!axis || !isFloat(x.dtype))
        return badInput(node, fmt::format("axis {} does not fit {}",
                                          node.attributes.integer("axis", -1), text(x.extents)));
    ReferenceValue out = x;
    ReductionPlan plan = planReduction(x.extents, {*axis});
    int64_t step = rowMajorStrides(x.extents)[*axis];
    if (out.count() > 0)
        forEachRow(plan, context.threads(), [&](size_t row) {
            function(out.floats.data() + plan.bases[row], step, x.extents[*axis]);
        });
    return std::vector<ReferenceValue>{std::move(out)};
}

template <void (*function)(double*, int64_t, int64_t)>
Outputs runAlongAxis(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    return alongAxis(node, inputs, context, function);
}

Outputs runLpNormalization(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    bool absolute = node.attributes.integer("p", 2) == 1;
    return alongAxis(node, inputs, context, [&](double* first, int64_t step, int64_t count) {
        double norm = 0;
        for (int64_t i = 0; i < count; ++i)
            norm += absolute ? std::fabs(first[i * step]) : first[i * step] * first[i * step];
        norm = absolute ? norm : std::sqrt(norm);
        for (int64_t i = 0; norm != 0 && i < count; ++i)
            first[i * step] /= norm;
    });
}

void inferAlongAxis(InferContext& context) {
    if (const Shape* x = shapeOf(context, 0))
        checkedAxis(context, context.node().attributes.integer("axis", -1), x->size());
    setSameAs(context, 0, 0);
}

constexpr OpRow axisRow(Op op, const char* name, ReferenceFunction reference,
                        uint32_t traits = Normalization, const char* attributes = "axis:int=-1") {
    return {.op = op,
            .name = name,
            .traits = traits,
            .inputs = "input",
            .attributes = attributes,
            .infer = inferAlongAxis,
            .reference = reference};
}

} // namespace

void softmaxRow(double* first, int64_t step, int64_t count) {
    double top = largestOf(first, step, count), sum = 0;
    for (int64_t i = 0; i < count; ++i)
        sum += first[i * step] = std::exp(first[i * step] - top);
    for (int64_t i = 0; i < count; ++i)
        first[i * step] /= sum;
}

std::span<const OpRow> softmaxRows() {
    static constexpr OpRow rows[] = {
        axisRow(Op::Softmax, "Softmax", onTensors<runAlongAxis<softmaxRow>>),
        axisRow(Op::LogSoftmax, "LogSoftmax", onTensors<runAlongAxis<logSoftmaxRow>>),
        axisRow(Op::Hardmax, "Hardmax", onTensors<runAlongAxis<hardmaxRow>>,
                Normalization | Discontinuous),
        axisRow(Op::LpNormalization, "LpNormalization", onTensors<runLpNormalization>,
                Normalization, "axis:int=-1 p:int=2"),
    };
    return rows;
}

} // namespace fuselage
