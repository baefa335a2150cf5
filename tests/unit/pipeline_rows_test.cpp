// SPDX-License-Identifier: Apache-2.0
// Spellings that exporters and people write, made into graphs from tables: how many kernels the
// library of rules leaves of each, and that they compute what the reference does. A spelling that
// nobody thought of yet is one line here; beside each kind stand the near misses that must not
// fuse.
#include "app/pipeline/agreement.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/planned.h"
#include "app/pipeline/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/unit/input_casts.h"
#include "tests/unit/passes_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

using namespace fuselage;

namespace {

const app::RuleLibrary& rowLibrary() {
    static const app::RuleLibrary loaded = *app::loadRuleLibrary({});
    return loaded;
}

/// Numbers that any spelling may name.
const std::string namedNumbers =
    "float zero = {0}, float one = {1}, float two = {2}, float three = {3}, float four = {4}, "
    "float six = {6}, "
    "float half = {0.5}, float sixth = {0.166666672}, float tenth = {0.1}, float eps = {0.00001}, "
    "float root2 = {1.41421356}, float rroot2 = {0.707106769}, float mrroot2 = {-0.707106769}, "
    "float quick = {1.702}, "
    "float cubic = {0.044715}, float k = {0.797884583}, "
    "float[1] zero1 = {0}, float[1] half1 = {0.5}, float[1] three1 = {3}, float[1] six1 = {6}, "
    "float[1] one1 = {1}, "
    "float sx = {0.05}, float sw = {0.01}, float sy = {0.04}, uint8 zx = {128}, uint8 zy = {100}, "
    "int8 zw = {0}, "
    "int64[1] last = {-1}, int64[1] first = {0}, int64[1] channels = {1}, int64[2] lasttwo = {-2, "
    "-1}, int64[2] wider = {12, 4}";

/// The values of a weight or a statistic: small, and positive, since some are variances.
Tensor seeded(const Extents& extents, uint32_t seed) {
    std::vector<float> out(static_cast<size_t>(elementCount(extents).value_or(0)));
    std::mt19937 engine(seed);
    for (float& x : out)
        x = (static_cast<float>(engine() % 1000) + 1) / 1500;
    return Tensor::ofFloats(extents, out);
}

/// The same for weights stored in 8 bits.
Tensor seededBytes(const Extents& extents, uint32_t seed) {
    Tensor out(DType::Int8, extents);
    std::mt19937 engine(seed);
    for (int64_t i = 0; i < out.elementCount(); ++i)
        out.setInt(i, static_cast<int64_t>(engine() % 255) - 127);
    return out;
}

/// Inputs whose names begin with w are weights.
Graph rowGraph(const std::string& signature, const std::string& body) {
    auto graph = model_io::loadText("<ir_version: 8, opset_import: [\"\" : 18]> g " + signature +
                                    " <" + namedNumbers + "> { " + body + " }");
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text()) << "\n" << body;
    if (!graph)
        return Graph();
    inferShapes(*graph);
    std::vector<std::string> weights;
    for (ValueId input : graph->inputs())
        if (const Value& value = graph->value(input); value.name[0] == 'w')
            weights.push_back(value.name);
    for (const std::string& name : weights) {
        const Type& type = graph->value(graph->findValue(name)).type;
        const auto seed = static_cast<uint32_t>(name.back());
        EXPECT_TRUE(bindInput(*graph, name,
                              type.dtype == DType::Int8 ? seededBytes(*type.extents(), seed)
                                                        : seeded(*type.extents(), seed)));
    }
    return std::move(*graph);
}

struct Fused {
    size_t kernels = 0;
    size_t integerSums = 0; ///< kernels that sum products of integers
    size_t inputCasts = 0;  ///< of them, those that only cast what a caller gives to a product
    std::string rules;      ///< that fired, one a word
    std::string losses;     ///< rules of matches that are predicted to cost time
    std::string differs;    ///< outputs and sides that disagree with the reference
};

Fused fusedOf(const Graph& graph, Precision precision = Precision::Fp32) {
    Fused out;
    Progress progress;
    app::FuseOptions options;
    options.profile = "h200"; // a profile of data only: the same on every machine
    options.precision = precision;
    auto fused = app::fuseGraph(graph, rowLibrary(), options, progress);
    EXPECT_TRUE(fused) << (fused ? "" : fused.error().text());
    if (!fused)
        return out;
    for (const RuleCount& count : fused->trace.counts)
        if (count.applied > 0)
            out.rules += count.rule + " ";
    for (const TraceEvent& event : fused->trace.events)
        if (event.kind == TraceEvent::Kind::Fused && event.gain < 0)
            out.losses += event.rule + " ";
    auto profile = deviceProfile("h200");
    auto planned =
        app::planSide(std::make_shared<const Graph>(fused->graph.clone()), app::Form::Fused,
                      {.profile = &*profile, .precision = precision}, progress);
    EXPECT_TRUE(planned) << (planned ? "" : planned.error().text());
    if (planned) {
        out.kernels = planned->plan->steps.size();
        for (const Step& step : planned->plan->steps)
            if (const auto* code = std::get_if<Contraction>(&step.program.code))
                out.integerSums += code->accumulate == DType::Int32 ? 1 : 0;
        out.inputCasts = test::inputCastsIn(*planned->plan);
    }
    const DType storage = storageOf(precision);
    const double limit = app::storageTolerance(storage, app::roundingDepth(fused->graph, storage));
    app::AgreementOptions agreement;
    agreement.threads = 1;
    auto agreements = app::compareForms(graph, fused->graph, agreement, progress);
    EXPECT_TRUE(agreements) << (agreements ? "" : agreements.error().text());
    if (agreements)
        for (const app::OutputAgreement& it : *agreements)
            if (precision == Precision::Fp32 ? !it.ok : !(it.maxRelative <= limit))
                out.differs += fmt::format("{} {} by {:.3g}; ", it.output, it.side, it.maxRelative);
    return out;
}

/// `y` of `c`.
struct Spelling {
    std::string name, text;
};

const std::vector<Spelling> activations = {
    {"Relu", "y = Relu(c)"},
    {"ReluAsMax", "y = Max(c, zero)"},
    {"ReluAsMaxOfZero", "y = Max(zero, c)"},
    {"ReluAsClip", "y = Clip(c, zero)"},
    {"ReluAsMaxOfOneElement", "y = Max(c, zero1)"},
    {"Relu6", "y = Clip(c, zero, six)"},
    {"Relu6AsReluMin", "a = Relu(c) y = Min(a, six)"},
    {"Relu6AsMaxMin", "a = Max(c, zero) y = Min(a, six)"},
    {"Relu6AsMinMax", "a = Min(c, six) y = Max(a, zero)"},
    {"LeakyRelu", "y = LeakyRelu<alpha = 0.1>(c)"},
    {"LeakyReluAsMax", "a = Mul(c, tenth) y = Max(a, c)"},
    {"LeakyReluAsWhere", "p = Greater(c, zero) a = Mul(c, tenth) y = Where(p, c, a)"},
    {"LeakyReluAsWhereLess", "p = Less(c, zero) a = Mul(tenth, c) y = Where(p, a, c)"},
    {"Elu", "y = Elu(c)"},
    {"EluAsWhere", "p = Greater(c, zero) e = Exp(c) a = Sub(e, one) y = Where(p, c, a)"},
    {"EluAsWhereScaled",
     "p = Greater(c, zero) e = Exp(c) a = Sub(e, one) b = Mul(a, one) y = Where(p, c, b)"},
    {"Selu", "y = Selu(c)"},
    {"Celu", "y = Celu(c)"},
    {"Sigmoid", "y = Sigmoid(c)"},
    {"SigmoidAsDiv", "n = Neg(c) e = Exp(n) s = Add(e, one) y = Div(one, s)"},
    {"SigmoidAsReciprocal", "n = Neg(c) e = Exp(n) s = Add(one, e) y = Reciprocal(s)"},
    {"Silu", "s = Sigmoid(c) y = Mul(c, s)"},
    {"SiluAsDiv", "n = Neg(c) e = Exp(n) s = Add(e, one) y = Div(c, s)"},
    {"SiluAsProduct", "n = Neg(c) e = Exp(n) s = Add(e, one) d = Div(one, s) y = Mul(d, c)"},
    {"HardSigmoid", "y = HardSigmoid<alpha = 0.16666667, beta = 0.5>(c)"},
    {"HardSigmoidAsClipDiv", "a = Add(c, three) b = Clip(a, zero, six) y = Div(b, six)"},
    {"HardSigmoidAsClipMul", "a = Add(three, c) b = Clip(a, zero, six) y = Mul(b, sixth)"},
    {"HardSigmoidAsClipOfLine", "a = Mul(c, sixth) b = Add(a, half) y = Clip(b, zero, one)"},
    {"HardSigmoidAsReluMin", "a = Add(c, three) r = Relu(a) b = Min(r, six) y = Div(b, six)"},
    {"HardSigmoidOfOneElement", "a = Add(c, three1) b = Clip(a, zero, six) y = Div(b, six1)"},
    {"HardSwish", "y = HardSwish(c)"},
    {"HardSwishAsClip", "a = Add(c, three) b = Clip(a, zero, six) m = Mul(c, b) y = Div(m, six)"},
    {"HardSwishOfGate", "a = Add(c, three) b = Clip(a, zero, six) d = Div(b, six) y = Mul(c, d)"},
    {"HardSwishAsReluMin",
     "a = Add(c, three) r = Relu(a) b = Min(r, six) m = Mul(c, b) y = Div(m, six)"},
    {"HardSwishOfHardSigmoid", "a = HardSigmoid<alpha = 0.16666667, beta = 0.5>(c) y = Mul(c, a)"},
    {"Gelu", "d = Div(c, root2) e = Erf(d) a = Add(e, one) m = Mul(c, a) y = Mul(m, half)"},
    {"GeluHalfFirst",
     "h = Mul(c, half) d = Mul(c, rroot2) e = Erf(d) a = Add(one, e) y = Mul(h, a)"},
    {"GeluDistributed",
     "h = Mul(c, half) d = Mul(c, rroot2) e = Erf(d) m = Mul(h, e) y = Add(h, m)"},
    {"GeluByOneMinusErf",
     "d = Mul(c, mrroot2) e = Erf(d) a = Sub(one, e) h = Mul(c, half) y = Mul(h, a)"},
    {"GeluByTanh",
     "p = Pow(c, three) q = Mul(p, cubic) s = Add(c, q) u = Mul(s, k) t = Tanh(u) a = Add(t, one) "
     "h = Mul(c, half) y = Mul(h, a)"},
    {"QuickGelu", "m = Mul(c, quick) s = Sigmoid(m) y = Mul(c, s)"},
    {"Tanh", "y = Tanh(c)"},
    {"Softplus", "y = Softplus(c)"},
    {"SoftplusAsLog", "e = Exp(c) a = Add(e, one) y = Log(a)"},
    {"Mish", "s = Softplus(c) t = Tanh(s) y = Mul(c, t)"},
    {"Softsign", "y = Softsign(c)"},
    {"SoftsignAsDiv", "a = Abs(c) s = Add(a, one) y = Div(c, s)"},
    // Nearly one of them, and no operator's form.
    {"ClipAtAnotherNumber", "y = Clip(c, zero, four)"},
    {"LeakyReluOfTheOtherSide", "p = Greater(c, zero) a = Mul(c, tenth) y = Where(p, a, c)"},
    {"EluThatEndsAtZero", "p = Less(c, zero) e = Exp(c) a = Sub(e, one) y = Where(p, a, zero)"},
    {"SigmoidOverTwo", "n = Neg(c) e = Exp(n) s = Add(e, two) y = Div(one, s)"},
    {"SiluOfTwice", "m = Mul(c, two) s = Sigmoid(m) y = Mul(c, s)"},
    {"HardSigmoidAtAnotherNumber", "a = Add(c, three) b = Clip(a, zero, four) y = Div(b, six)"},
    {"HardSwishMovedByTwo", "a = Add(c, two) b = Clip(a, zero, six) m = Mul(c, b) y = Div(m, six)"},
    {"GeluOfAnotherRoot",
     "d = Div(c, two) e = Erf(d) a = Add(e, one) m = Mul(c, a) y = Mul(m, half)"},
    {"GeluByTenth", "d = Div(c, root2) e = Erf(d) a = Add(e, one) m = Mul(c, a) y = Mul(m, tenth)"},
};

const std::vector<Spelling> layers = {
    {"ConvBN",
     "(float[1,4,6,6] x, float[8,4,3,3] w1, float[8] w2, float[8] w3, float[8] w4, float[8] w5)"
     " => (float[1,8,4,4] y)|a0 = Conv(x, w1) c = BatchNormalization(a0, w2, w3, w4, w5)"},
    {"Linear", "(float[6,8] x, float[8,12] w1, float[12] w2) => (float[6,12] y)|a0 = MatMul(x, w1) "
               "c = Add(a0, w2)"},
    {"LinearThreeTimesAsWide", "(float[6,4] x, float[4,12] w1, float[12] w2) => (float[6,12] y)|a0 "
                               "= MatMul(x, w1) c = Add(a0, w2)"},
};

/// `c` of operands and weights stored in 8 bits.
const std::vector<Spelling> storedLayers = {
    {"Conv", "(uint8[1,4,6,6] x, int8[8,4,3,3] w1, float[8] w2) => (uint8[1,8,4,4] stored)|"
             "f = DequantizeLinear(x, sx, zx) g = DequantizeLinear(w1, sw, zw) c = Conv(f, g, w2)"},
    {"Linear", "(uint8[6,8] x, int8[8,12] w1, float[12] w2) => (uint8[6,12] stored)|"
               "f = DequantizeLinear(x, sx, zx) g = DequantizeLinear(w1, sw, zw) "
               "a0 = MatMul(f, g) c = Add(a0, w2)"},
};

/// A whole graph and the kernels that it is to become.
struct Row {
    std::string name, signature, body;
    size_t kernels = 1;
    /// Of its 16-bit form those beside them that only cast, not counting what the caller's float32
    /// becomes in front of a product: libraries read 16 bits from memory.
    size_t casts = 0;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
    return out << row.signature << " { " << row.body << " }";
}

std::vector<Row> activationRows() {
    std::vector<Row> out;
    for (const Spelling& layer : layers)
        for (const Spelling& activation : activations) {
            const size_t bar = layer.text.find('|');
            out.push_back({layer.name + activation.name, layer.text.substr(0, bar),
                           layer.text.substr(bar + 1) + " " + activation.text});
        }
    return out;
}

std::vector<Row> storedRows() {
    std::vector<Row> out;
    for (const Spelling& layer : storedLayers)
        for (const Spelling& activation : activations) {
            const size_t bar = layer.text.find('|');
            out.push_back({layer.name + activation.name, layer.text.substr(0, bar),
                           layer.text.substr(bar + 1) + " " + activation.text +
                               " stored = QuantizeLinear(y, sy, zy)"});
        }
    return out;
}

const std::string rowsIn = "(float[6,8] x) => (float[6,8] y)";
const std::string image = "(float[2,4,5,6] x) => (float[2,4,5,6] y)";

const std::vector<Row> reductions = {
    {"SoftmaxOfTheTextbook", rowsIn, "e = Exp(x) s = ReduceSum(e, last) y = Div(e, s)"},
    {"SoftmaxAlongTheFirstAxis", rowsIn, "e = Exp(x) s = ReduceSum(e, first) y = Div(e, s)"},
    {"SoftmaxOfChannels", image,
     "m = ReduceMax(x, channels) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, channels) y = Div(e, "
     "s)"},
    {"SoftmaxThenMulThenRelu", "(float[6,8] x, float[6,8] r) => (float[6,8] y)",
     "s = Softmax(x) m = Mul(s, r) y = Relu(m)"},
    {"SoftmaxBehindAMaskOfAllHeads", "(float[2,3,8,8] x, bool[2,1,8,8] q) => (float[2,3,8,8] y)",
     "h = Mul(x, half) a = Where(q, h, tenth) y = Softmax<axis = -1>(a)"},
    {"SoftmaxBehindAMaskOfAllImages", "(float[2,3,8,8] x, bool[1,1,8,8] q) => (float[2,3,8,8] y)",
     "h = Div(x, two) a = Where(q, h, tenth) y = Softmax<axis = -1>(a)"},
    {"SoftmaxOfTheTextbookInAnAttention", "(float[6,8] x, float[8,4] v) => (float[6,4] y)",
     "e = Exp(x) s = ReduceSum(e, last) p = Div(e, s) y = MatMul(p, v)", 2},
    {"SeveralReadersOfOneRow", "(float[6,8] x) => (float[6,8] y, float[6,8] z, float[6,8] v)",
     "a = Abs(x) b = Sqrt(a) m = ReduceMax(b, last) c = Mul(b, x) y = Add(c, a) z = Div(b, m) "
     "v = Sub(c, b)"},
    // In two: what one kernel would save costs it as much again.
    {"SeveralReadersOfASum",
     "(float[6,8] x, float[6,8] r) => (float[6,8] y, float[6,1] z, float[6,8] v, float[6,8] u)",
     "a = Add(x, r) b = Sigmoid(a) y = Mul(a, b) z = ReduceMean(y, last) v = Tanh(y) u = Sub(y, "
     "r)",
     2},
    {"LogSoftmaxBehindAScale", rowsIn, "h = Mul(x, half) y = LogSoftmax(h)"},
    {"OverItsSum", rowsIn, "s = ReduceSum(x, last) a = Add(s, eps) y = Div(x, a)"},
    {"OverTheSumOfMagnitudes", rowsIn,
     "m = Abs(x) s = ReduceSum(m, last) a = Add(s, eps) y = Div(x, a)"},
    {"WithoutItsMean", rowsIn, "m = ReduceMean(x, last) y = Sub(x, m)"},
    {"BetweenMinAndMax", rowsIn,
     "l = ReduceMin(x, last) h = ReduceMax(x, last) d = Sub(x, l) w = Sub(h, l) a = Add(w, eps) y "
     "= Div(d, a)"},
    {"LayerNormWithoutWeights", rowsIn,
     "m = ReduceMean(x, last) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, last) a = Add(v, eps) "
     "r = Sqrt(a) "
     "y = Div(d, r)"},
    {"LayerNormOverTwoAxes", image,
     "m = ReduceMean(x, lasttwo) d = Sub(x, m) q = Pow(d, two) v = ReduceMean(q, lasttwo) a = "
     "Add(v, eps) "
     "r = Sqrt(a) y = Div(d, r)"},
    {"LayerNormOverTwoAxesWithWeights",
     "(float[2,4,5,6] x, float[5,6] w1, float[5,6] w2) => (float[2,4,5,6] y)",
     "m = ReduceMean(x, lasttwo) d = Sub(x, m) q = Pow(d, two) v = ReduceMean(q, lasttwo) a = "
     "Add(v, eps) "
     "r = Sqrt(a) n = Div(d, r) s = Mul(n, w1) y = Add(s, w2)"},
    {"LayerNormOfChannels",
     "(float[2,4,5,6] x, float[4,1,1] w1, float[4,1,1] w2) => (float[2,4,5,6] y)",
     "m = ReduceMean(x, channels) d = Sub(x, m) q = Pow(d, two) v = ReduceMean(q, channels) a = "
     "Add(v, eps) "
     "r = Sqrt(a) n = Div(d, r) s = Mul(n, w1) y = Add(s, w2)"},
    {"LayerNormBetweenCasts", "(float16[6,8] x, float[8] w1, float[8] w2) => (float16[6,8] y)",
     "f = Cast<to = 1>(x) m = ReduceMean(f, last) d = Sub(f, m) q = Pow(d, two) v = ReduceMean(q, "
     "last) "
     "a = Add(v, eps) r = Sqrt(a) n = Div(d, r) s = Mul(n, w1) b = Add(s, w2) y = Cast<to = "
     "10>(b)"},
    {"MomentsWithSeveralReaders", "(float[6,8] x) => (float[6,1] m, float[6,1] v, float[6,8] y)",
     "m = ReduceMean(x, last) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, last) a = Add(v, eps) "
     "r = Sqrt(a) "
     "y = Div(d, r)"},
    {"ASumReadTwice", "(float[6,8] x) => (float[6,1] y, float[6,1] z)",
     "s = ReduceSum(x, last) y = Sqrt(s) z = Neg(s)"},
    {"SumAndNormalisation",
     "(float[6,8] x, float[6,8] r, float[8] w1, float[8] w2) => (float[6,8] s, float[6,8] y)",
     "s = Add(x, r) y = LayerNormalization(s, w1, w2)"},
    {"SumAndRootMeanSquare",
     "(float[6,8] x, float[6,8] r, float[8] w1) => (float[6,8] s, float[6,8] y)",
     "s = Add(x, r) q = Mul(s, s) v = ReduceMean(q, last) a = Add(v, eps) d = Sqrt(a) n = Div(s, "
     "d) y = Mul(n, w1)"},
    {"CosineLoss", "(float[6,8] x, float[6,8] r) => (float[6,1] y)",
     "p = Mul(x, r) s = ReduceSum(p, last) a = ReduceL2(x, last) b = ReduceL2(r, last) m = Mul(a, "
     "b) n = Max(m, eps) "
     "q = Div(s, n) y = Sub(one, q)"},
    // Rows and columns cannot share a pass: one kernel for each.
    {"MeansOfRowsThenOfColumns", rowsIn,
     "m = ReduceMean(x, last) d = Sub(x, m) n = ReduceMean(d, first) y = Sub(d, n)", 2},
};

const std::string feature = "(float[1,4,6,6] x, float[8,4,3,3] w1) => (float[1,8,4,4] y)";
const std::string featureAndResidual =
    "(float[1,4,6,6] x, float[1,8,4,4] r, float[8,4,3,3] w1) => (float[1,8,4,4] y)";

const std::vector<Row> epilogues = {
    {"ComputedProductBiasRelu", "(float[6,8] x, float[8,12] a, float[12] b) => (float[6,12] y)",
     "m = MatMul(x, a) s = Add(m, b) y = Relu(s)"},
    {"ComputedConvRelu", "(float[1,4,6,6] x, float[8,4,3,3] a) => (float[1,8,4,4] y)",
     "c = Conv(x, a) y = Relu(c)"},
    {"ConvAbs", feature, "c = Conv(x, w1) y = Abs(c)"},
    {"ConvSub", featureAndResidual, "c = Conv(x, w1) y = Sub(c, r)"},
    {"ConvMax", featureAndResidual, "c = Conv(x, w1) y = Max(c, r)"},
    {"ConvMin", featureAndResidual, "c = Conv(x, w1) y = Min(r, c)"},
    {"ConvGate", featureAndResidual, "c = Conv(x, w1) s = Sigmoid(c) y = Mul(s, r)"},
    {"ConvReluAdd", featureAndResidual, "c = Conv(x, w1) a = Relu(c) y = Add(a, r)"},
    {"ConvAddAddRelu",
     "(float[1,4,6,6] x, float[1,8,4,4] r, float[1,8,4,4] q, float[8,4,3,3] w1) => (float[1,8,4,4] "
     "y)",
     "c = Conv(x, w1) a = Add(c, r) b = Add(a, q) y = Relu(b)"},
    {"ConvTanhTimesSigmoid", feature, "c = Conv(x, w1) t = Tanh(c) s = Sigmoid(c) y = Mul(t, s)"},
    {"ConvResidualAndGate",
     "(float[1,4,6,6] x, float[1,8,4,4] r, float[1,8,1,1] q, float[8,4,3,3] w1) => (float[1,8,4,4] "
     "y)",
     "c = Conv(x, w1) g = Mul(c, q) y = Add(g, r)"},
    {"ConvWithTwoResults",
     "(float[1,4,6,6] x, float[8,4,3,3] w1) => (float[1,8,4,4] y, float[1,8,4,4] z)",
     "c = Conv(x, w1) y = Relu(c) z = Sigmoid(c)"},
    {"ConvScaleAndShiftOfOneElement", feature,
     "c = Conv(x, w1) m = Mul(c, half1) s = Add(m, three1) y = Relu(s)"},
    {"ConvTransposeTanhScale", "(float[1,4,4,4] x, float[4,8,3,3] w1) => (float[1,8,6,6] y)",
     "c = ConvTranspose(x, w1) t = Tanh(c) m = Mul(t, half) y = Add(m, half)"},
    {"GemmBiasOfOneRow", "(float[6,8] x, float[8,12] w1, float[1,12] w2) => (float[6,12] y)",
     "m = MatMul(x, w1) s = Add(m, w2) y = Relu(s)"},
    {"ProductAndScalar", "(float[6,8] x, float[8,12] w1) => (float[6,12] y)",
     "m = MatMul(x, w1) s = Add(m, half) y = Relu(s)"},
    {"WeightOnTheLeft", "(float[8,12] x, float[6,8] w1, float[6,1] w2) => (float[6,12] y)",
     "m = MatMul(w1, x) s = Add(m, w2) y = Relu(s)"},
    {"TransposedGemm", "(float[8,6] x, float[8,12] w1, float[12] w2) => (float[6,12] y)",
     "m = Gemm<transA = 1>(x, w1, w2) y = Relu(m)"},
    {"BatchedWeight", "(float[3,6,8] x, float[3,8,12] w1, float[12] w2) => (float[3,6,12] y)",
     "m = MatMul(x, w1) s = Add(m, w2) y = Relu(s)"},
    {"ComputedBias", "(float[6,8] x, float[8,12] w1, float[12] b) => (float[6,12] y)",
     "m = MatMul(x, w1) s = Add(m, b) y = Relu(s)"},
    {"StemWithSmallPooling", "(float[1,3,16,16] x, float[4,3,7,7] w1) => (float[1,4,5,5] y)",
     "c = Conv(x, w1) a = Relu(c) y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a)", 1,
     1}, // a pool is the last thing that a convolution does
    {"StemWithCeiling", "(float[1,3,16,16] x, float[4,3,7,7] w1) => (float[1,4,5,5] y)",
     "c = Conv(x, w1) a = Relu(c) y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = "
     "1>(a)",
     1, 1},
    {"ThreeBranchesOfOneInput",
     "(float[6,8] x, float[8,8] w1, float[8,8] w2, float[8,8] w3) => (float[6,8] y, float[6,8] z, "
     "float[6,8] v)",
     "a = MatMul(x, w1) y = Relu(a) b = MatMul(x, w2) z = Sigmoid(b) c = MatMul(x, w3) v = Abs(c)",
     3},
    // The second product reads what the first one's epilogue makes.
    {"TwoProducts", "(float[6,8] x, float[8,8] w1, float[8,8] w2) => (float[6,8] y)",
     "a = MatMul(x, w1) b = Relu(a) c = MatMul(b, w2) y = Abs(c)", 2},
    {"SumOfTwoConvs",
     "(float[1,4,6,6] x, float[8,4,3,3] w1, float[8,4,3,3] w2) => (float[1,8,4,4] y)",
     "a = Conv(x, w1) b = Conv(x, w2) s = Sub(a, b) y = Abs(s)", 2},
    {"BiasBehindTheActivation",
     "(float[1,4,6,6] x, float[8,4,3,3] w1, float[8,1,1] w2) => (float[1,8,4,4] y)",
     "c = Conv(x, w1) a = Relu(c) y = Add(a, w2)"},
    {"NormalisationBehindAProduct", "(float[6,8] x, float[8,12] w1) => (float[6,12] y)",
     "m = MatMul(x, w1) n = ReduceMean(m, last) y = Sub(m, n)", 2},
};

const std::vector<Row> wholes = {
    {"ReshapeBetweenElementwise", "(float[6,8] x) => (float[12,4] y)",
     "a = Exp(x) b = Reshape(a, wider) y = Tanh(b)", 2},
    {"ElementwiseOfIndependentInputs",
     "(float[6,8] x, float[6,8] r, float[6,8] q) => (float[6,8] y, float[6,8] z, float[6,8] v)",
     "y = Exp(x) z = Tanh(r) v = Abs(q)"},
    {"Inception",
     "(float[1,8,8,8] x, float[8,8,1,1] w1, float[4,8,1,1] w2, float[8,4,3,3] w3, "
     "float[4,8,1,1] w4, float[8,4,5,5] w5, float[8,8,1,1] w6) => (float[1,32,8,8] y)",
     "a = Conv(x, w1) a1 = Relu(a) b = Conv(x, w2) b1 = Relu(b) "
     "c = Conv<pads = [1, 1, 1, 1]>(b1, w3) c1 = Relu(c) d = Conv(x, w4) d1 = Relu(d) "
     "e = Conv<pads = [2, 2, 2, 2]>(d1, w5) e1 = Relu(e) "
     "p = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x) f = Conv(p, w6) f1 = Relu(f) "
     "y = Concat<axis = 1>(a1, c1, e1, f1)",
     6, 1}, // two convolutions of 1x1 are one
    {"ThreeLargeLayersOfOneInput",
     "(float[64,256] x, float[256,256] w1, float[256] w2, float[256,256] w3, float[256] w4, "
     "float[256,256] w5, float[256] w6) => (float[64,256] y, float[64,256] z, float[64,256] v)",
     "a = MatMul(x, w1) y = Add(a, w2) b = MatMul(x, w3) z = Add(b, w4) c = MatMul(x, w5) "
     "v = Add(c, w6)",
     2},
    {"GateOfOnePixel", "(float[1,64,1,1] s, float[1,64,112,112] x) => (float[1,64,112,112] y)",
     "g = HardSigmoid(s) y = Mul(g, x)"},
    // Nobody does this again for each of those who read it.
    {"DearWorkWithSeveralReaders",
     "(float[64,512] x, float[512,64] w1, float[512,64] w2, float[512,64] w3) => "
     "(float[64,64] y, float[64,64] z, float[64,64] v)",
     "a = Sin(x) b = Erf(a) c = Cos(b) d = Tan(c) y1 = MatMul(d, w1) y = Relu(y1) "
     "z1 = MatMul(d, w2) z = Sigmoid(z1) v1 = MatMul(d, w3) v = Abs(v1)",
     4},
    {"ConvolutionWithFarReaders",
     "(float[1,4,6,6] x, float[8,4,3,3] w1, float[8,8,1,1] w2, float[8,8,1,1] w3) => "
     "(float[1,8,4,4] y, float[1,8,4,4] z)",
     "c = Conv(x, w1) a = Relu(c) y = Conv(a, w2) z = Conv(c, w3)", 4},
};

class Rows : public ::testing::TestWithParam<Row> {};

std::string nameOfRow(const ::testing::TestParamInfo<Row>& info) {
    return info.param.name;
}

} // namespace

TEST_P(Rows, BecomeTheKernelsOfTheTableAndComputeTheSame) {
    const Fused fused = fusedOf(rowGraph(GetParam().signature, GetParam().body));
    EXPECT_EQ(fused.kernels, GetParam().kernels) << "rules: " << fused.rules;
    EXPECT_EQ(fused.losses, "");
    EXPECT_EQ(fused.differs, "") << "rules: " << fused.rules;
}

TEST_P(Rows, BecomeTheSameKernelsInSixteenBits) {
    for (Precision precision : {Precision::Fp16, Precision::Bf16}) {
        SCOPED_TRACE(nameOf(precision));
        const Fused fused = fusedOf(rowGraph(GetParam().signature, GetParam().body), precision);
        EXPECT_EQ(fused.kernels - fused.inputCasts, GetParam().kernels + GetParam().casts)
            << "rules: " << fused.rules;
        EXPECT_EQ(fused.differs, "") << "rules: " << fused.rules;
    }
}

class StoredRows : public Rows {};

TEST_P(StoredRows, BecomeOneKernelThatSumsIntegers) {
    const Fused fused = fusedOf(rowGraph(GetParam().signature, GetParam().body));
    EXPECT_EQ(fused.kernels, GetParam().kernels) << "rules: " << fused.rules;
    EXPECT_EQ(fused.integerSums, 1U) << "rules: " << fused.rules;
    EXPECT_EQ(fused.differs, "") << "rules: " << fused.rules;
}

INSTANTIATE_TEST_SUITE_P(Stored, StoredRows, ::testing::ValuesIn(storedRows()), nameOfRow);
INSTANTIATE_TEST_SUITE_P(Activations, Rows, ::testing::ValuesIn(activationRows()), nameOfRow);
INSTANTIATE_TEST_SUITE_P(Reductions, Rows, ::testing::ValuesIn(reductions), nameOfRow);
INSTANTIATE_TEST_SUITE_P(Wholes, Rows, ::testing::ValuesIn(wholes), nameOfRow);
INSTANTIATE_TEST_SUITE_P(Epilogues, Rows, ::testing::ValuesIn(epilogues), nameOfRow);
