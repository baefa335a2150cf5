// SPDX-License-Identifier: Apache-2.0
#include "core/ops/dropout.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <algorithm>
#include <random>

namespace fuselage {

namespace {

Result<std::vector<ReferenceValue>> runDropout(const Node& node, ReferenceInputs inputs,
                                               ReferenceContext& context) {
    const ReferenceValue *ratio = inputAt(inputs, 1), *mode = inputAt(inputs, 2);
    if ((ratio && ratio->count() != 1) || (mode && mode->count() != 1))
        return badInput(node, "ratio and training_mode must be scalars");
    const double drop = ratio ? ratio->at(0) : 0.5;
    const bool training = mode && mode->intAt(0) != 0 && drop > 0;
    ReferenceValue out = *inputs[0];
    ReferenceValue mask = ReferenceValue::tensor(DType::Bool, out.extents);
    std::fill(mask.ints.begin(), mask.ints.end(), 1);
    if (training && (!isFloat(out.dtype) || drop >= 1))
        return badInput(node, "training needs floats and a ratio below 1");
    std::mt19937_64 random(context.seed());
    std::uniform_real_distribution<double> uniform(0, 1);
    for (size_t i = 0; training && i < out.floats.size(); ++i) {
        mask.ints[i] = uniform(random) >= drop;
        out.floats[i] = mask.ints[i] != 0 ? out.floats[i] / (1 - drop) : 0;
    }
    std::vector<ReferenceValue> results{std::move(out), std::move(mask)};
    return trimmed(node, std::move(results));
}

void inferDropout(InferContext& context) {
    setSameAs(context, 0, 0);
    const Shape* x = shapeOf(context, 0);
    setTensor(context, 1, DType::Bool, x ? std::optional(*x) : std::nullopt);
}

} // namespace

std::span<const OpRow> dropoutRows() {
    static constexpr OpRow rows[] = {
        {.op = Op::Dropout,
         .name = "Dropout",
         .maxInputs = 3,
         .maxOutputs = 2,
         .traits = Nondeterministic,
         .inputs = "data ratio training_mode",
         .attributes = "seed:int",
         .infer = inferDropout,
         .reference = onTensors<runDropout>},
    };
    return rows;
}

} // namespace fuselage
