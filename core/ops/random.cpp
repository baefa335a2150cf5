// SPDX-License-Identifier: Apache-2.0
// Numbers come from the context's seed, or from the node's own `seed` attribute; a node gives the
// same numbers in every run. The generator and the distributions are written out here, since those
// of the standard library differ between its implementations.
#include "core/ops/random.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numbers>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

/// SplitMix64: one multiplication chain a number, good enough for model inputs.
class Generator {
public:
    Generator(const Node& node, ReferenceContext& context)
        : m_state(node.attributes.has("seed")
                      ? std::bit_cast<uint64_t>(node.attributes.number("seed"))
                      : context.seed()) {}

    /// In [0, 1).
    double uniform() {
        m_state += 0x9e3779b97f4a7c15ULL;
        uint64_t z = m_state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        z ^= z >> 31;
        return static_cast<double>(z >> 11) * 0x1p-53;
    }

    /// Mean 0, deviation 1 (Box and Muller's transform).
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

private:
    uint64_t m_state;
};

/// The `dtype` attribute, or what the operator falls back to.
DType dtypeOr(const Node& node, DType fallback) {
    const int64_t number = node.attributes.integer("dtype");
    return number ? dtypeFromOnnx(number).value_or(DType::Undefined) : fallback;
}

bool isLike(Op op) {
    return op == Op::RandomNormalLike || op == Op::RandomUniformLike;
}

void inferRandom(InferContext& context) {
    const Node& node = context.node();
    if (!isLike(node.op))
        return setTensor(context, 0, dtypeOr(node, DType::Float32),
                         toShape(node.attributes.integers("shape")));
    const Shape* x = shapeOf(context, 0);
    setTensor(context, 0, dtypeOr(node, dtypeOf(context, 0)), x ? std::optional(*x) : std::nullopt);
}

Results runRandom(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const bool like = isLike(node.op);
    const DType dtype = dtypeOr(node, like ? inputs[0]->dtype : DType::Float32);
    auto out =
        allocateResult(node, dtype, like ? inputs[0]->extents : node.attributes.integers("shape"));
    if (!out)
        return single(std::move(out));
    if (!isFloat(dtype))
        return badInput(node, fmt::format("{} has no random numbers", nameOf(dtype)));
    Generator generator(node, context);
    const bool normal = node.op == Op::RandomNormal || node.op == Op::RandomNormalLike;
    const double offset = node.attributes.number(normal ? "mean" : "low", 0);
    const double scale =
        normal ? node.attributes.number("scale", 1) : node.attributes.number("high", 1) - offset;
    for (double& value : out->floats)
        value = offset + scale * (normal ? generator.normal() : generator.uniform());
    return single(std::move(out));
}

void inferBernoulli(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    setTensor(context, 0, dtypeOr(context.node(), dtypeOf(context, 0)),
              x ? std::optional(*x) : std::nullopt);
}

Results runBernoulli(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue& x = *inputs[0];
    auto out = allocateResult(node, dtypeOr(node, x.dtype), x.extents);
    if (!out)
        return single(std::move(out));
    if (!isFloat(x.dtype) || out->dtype == DType::String)
        return badInput(node, "the input must be probabilities");
    Generator generator(node, context);
    for (size_t i = 0; i < x.floats.size(); ++i) {
        const bool drawn = generator.uniform() < x.floats[i];
        if (isFloat(out->dtype))
            out->floats[i] = drawn;
        else
            out->ints[i] = drawn;
    }
    return single(std::move(out));
}

void inferMultinomial(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    setTensor(context, 0, dtypeOr(context.node(), DType::Int32),
              Shape{x && !x->empty() ? x->front() : Dim(),
                    context.node().attributes.integer("sample_size", 1)});
}

Results runMultinomial(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue& x = *inputs[0];
    const int64_t samples = node.attributes.integer("sample_size", 1);
    if (x.extents.size() != 2 || x.extents[1] < 1 || !isFloat(x.dtype))
        return badInput(node, "the input must be rows of log-probabilities");
    const int64_t classes = x.extents[1];
    auto out = allocateResult(node, dtypeOr(node, DType::Int32), {x.extents[0], samples});
    if (!out)
        return single(std::move(out));
    if (!isInteger(out->dtype))
        return badInput(node, "the result must be integers");
    Generator generator(node, context);
    for (int64_t row = 0; row < x.extents[0]; ++row) {
        const double* logs = x.floats.data() + row * classes;
        double total = 0;
        for (int64_t c = 0; c < classes; ++c)
            total += std::exp(logs[c]);
        for (int64_t i = 0; i < samples; ++i) {
            double rest = generator.uniform() * total;
            int64_t pick = 0;
            while (pick + 1 < classes && rest >= std::exp(logs[pick]))
                rest -= std::exp(logs[pick++]);
            out->ints[static_cast<size_t>(row * samples + i)] = pick;
        }
    }
    return single(std::move(out));
}

} // namespace

std::span<const OpRow> randomRows() {
    static const OpRow rows[] = {
        {.op = Op::Bernoulli,
         .name = "Bernoulli",
         .since = 15,
         .traits = Nondeterministic,
         .inputs = "input",
         .attributes = "dtype:int seed:float",
         .infer = inferBernoulli,
         .reference = onTensors<runBernoulli>},
        {.op = Op::Multinomial,
         .name = "Multinomial",
         .since = 7,
         .traits = Nondeterministic,
         .inputs = "input",
         .attributes = "dtype:int=6 sample_size:int=1 seed:float",
         .infer = inferMultinomial,
         .reference = onTensors<runMultinomial>},
        {.op = Op::RandomNormal,
         .name = "RandomNormal",
         .minInputs = 0,
         .maxInputs = 0,
         .traits = Nondeterministic,
         .inputs = "",
         .attributes = "dtype:int=1 mean:float=0 scale:float=1 seed:float shape:ints!",
         .infer = inferRandom,
         .reference = onTensors<runRandom>},
        {.op = Op::RandomNormalLike,
         .name = "RandomNormalLike",
         .traits = Nondeterministic | ShapeQuery,
         .inputs = "input",
         .attributes = "dtype:int mean:float=0 scale:float=1 seed:float",
         .infer = inferRandom,
         .reference = onTensors<runRandom>},
        {.op = Op::RandomUniform,
         .name = "RandomUniform",
         .minInputs = 0,
         .maxInputs = 0,
         .traits = Nondeterministic,
         .inputs = "",
         .attributes = "dtype:int=1 high:float=1 low:float=0 seed:float shape:ints!",
         .infer = inferRandom,
         .reference = onTensors<runRandom>},
        {.op = Op::RandomUniformLike,
         .name = "RandomUniformLike",
         .traits = Nondeterministic | ShapeQuery,
         .inputs = "input",
         .attributes = "dtype:int high:float=1 low:float=0 seed:float",
         .infer = inferRandom,
         .reference = onTensors<runRandom>},
    };
    return rows;
}

} // namespace fuselage
