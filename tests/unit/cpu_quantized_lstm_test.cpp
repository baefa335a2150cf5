// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLSTM: the reference function against numbers that ONNX Runtime 1.30 computed, the
// kernel against the reference function. A state that is quantised to another integer changes
// results by more than a thousandth, so the tolerance says that all integers are equal.
#include "cpu_library_support.h"

#include <fmt/format.h>

#include <random>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

struct QuantizedLstmCase {
    std::string direction = "forward";
    int64_t length = 5, batch = 1, inputs = 24, hidden = 16;
    DType weights = DType::UInt8;
    bool perRow = false, bias = true, initial = true;
    std::string attributes;

    int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }

    int64_t columns() const { return 4 * hidden; }
};

Tensor bytesOf(DType dtype, const Extents& extents, const std::vector<int64_t>& values) {
    Tensor out(dtype, extents);
    for (size_t i = 0; i < values.size(); ++i)
        out.bytes()[i] = static_cast<std::byte>(values[i]);
    return out;
}

std::string bodyOf(const QuantizedLstmCase& c) {
    const int64_t d = c.directions();
    const std::string type = nameOf(c.weights);
    const std::string scales =
        c.perRow ? fmt::format("[{},{}]", d, c.columns()) : fmt::format("[{}]", d);
    const std::string state = fmt::format("float[{},{},{}]", d, c.batch, c.hidden);
    std::string parameters = fmt::format(
        "float[{},{},{}] x, {}[{},{},{}] w, {}[{},{},{}] r, float{} ws, {}{} wz, float{} rs, "
        "{}{} rz, float[1] omitted",
        c.length, c.batch, c.inputs, type, d, c.inputs, c.columns(), type, d, c.hidden, c.columns(),
        scales, type, scales, scales, type, scales);
    if (c.bias)
        parameters += fmt::format(", float[{},{}] b", d, 2 * c.columns());
    if (c.initial)
        parameters += ", " + state + " h0, " + state + " c0";
    return fmt::format(
        "({}) => (float[{},{},{},{}] y, {} h, {} c) {{ y, h, c = "
        "com.microsoft.DynamicQuantizeLSTM<hidden_size={}, direction=\"{}\"{}>(x, w, "
        "r, {}, omitted, {}, omitted, ws, wz, rs, rz) }}",
        parameters, c.length, d, c.batch, c.hidden, state, state, c.hidden, c.direction,
        c.attributes, c.bias ? "b" : "omitted", c.initial ? "h0, c0" : "omitted, omitted");
}

/// Over the whole range of the weights' type, with zero points of their own.
std::map<std::string, Tensor> constantsOf(const QuantizedLstmCase& c, uint32_t seed) {
    std::mt19937 random(seed);
    auto from = [&](int64_t low, int64_t high) {
        return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
    };
    std::map<std::string, Tensor> out;
    const int64_t d = c.directions();
    const Extents scales = c.perRow ? Extents{d, c.columns()} : Extents{d};
    for (const char* name : {"w", "r"}) {
        const int64_t depth = *name == 'w' ? c.inputs : c.hidden;
        std::vector<int64_t> values, zeros;
        std::vector<float> steps;
        for (int64_t i = 0; i < d * depth * c.columns(); ++i)
            values.push_back(from(0, 255));
        for (int64_t i = 0; i < *elementCount(scales); ++i) {
            zeros.push_back(c.weights == DType::UInt8 ? from(110, 140) : from(-9, 9));
            steps.push_back(static_cast<float>(from(20, 60)) * 1e-4F);
        }
        out.emplace(name, bytesOf(c.weights, {d, depth, c.columns()}, values));
        out.emplace(std::string(name) + "s", Tensor::ofFloats(scales, steps));
        out.emplace(std::string(name) + "z", bytesOf(c.weights, scales, zeros));
    }
    if (c.bias)
        out.emplace("b", weights({d, 2 * c.columns()}, seed + 1));
    return out;
}

std::string tacticOf(const QuantizedLstmCase& c, uint32_t seed) {
    return expectLibrary(bodyOf(c), constantsOf(c, seed)).tactic;
}

/// The code of the reason why there is no kernel when the constant `varies` is none.
std::string whyNot(const QuantizedLstmCase& c, const std::string& varies) {
    auto constants = constantsOf(c, 1);
    constants.erase(varies);
    LowerRequest request = bodyFrom(bodyOf(c), constants);
    leaveOut(request);
    const KernelProgram program = programOf(request);
    Threads threads(1);
    PrepareContext context{{}, {}, vectorTable(), threads};
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        context.inputs.push_back(
            layoutFor(program.inputs[i].dtype, program.inputs[i].extents, Order::RowMajor));
        context.inputs.back().constant = request.constants[i];
    }
    for (const OperandType& type : program.outputs)
        context.outputs.push_back(layoutFor(type.dtype, type.extents, Order::RowMajor));
    KernelResult kernel = prepareKernel(program, context);
    return kernel ? "" : kernel.error().code;
}

} // namespace

TEST(QuantizedLstm, ComputesWhatOnnxRuntimeDoes) {
    const QuantizedLstmCase c{
        .direction = "bidirectional", .length = 3, .batch = 2, .inputs = 2, .hidden = 2};
    const std::map<std::string, Tensor> constants{
        {"w",
         bytesOf(DType::UInt8, {2, 2, 8},
                 {34,  32,  204, 127, 151, 153, 182, 7,   124, 37,  102, 237, 140, 18, 138, 33,
                  193, 242, 250, 159, 222, 94,  37,  130, 113, 169, 254, 70,  219, 35, 89,  201})},
        {"ws", Tensor::ofFloats({2}, {0.010022163391113281F, 0.00907429400831461F})},
        {"wz", bytesOf(DType::UInt8, {2}, {137, 132})},
        {"r",
         bytesOf(DType::UInt8, {2, 2, 8},
                 {214, 140, 251, 251, 34,  52, 78,  141, 210, 123, 251, 90, 237, 151, 184, 60,
                  151, 205, 226, 222, 247, 32, 199, 119, 175, 70,  3,   21, 249, 229, 77,  110})},
        {"rs", Tensor::ofFloats({2}, {0.006886147893965244F, 0.01004017423838377F})},
        {"rz", bytesOf(DType::UInt8, {2}, {103, 108})},
        {"b", Tensor::ofFloats(
                  {2, 16}, {-0.062086932F,  -0.24405468F, 0.10429518F,  0.074263722F, 0.32964385F,
                            -0.38537428F,   -0.19848388F, -0.25145009F, -0.52020448F, 0.037930366F,
                            0.15834126F,    -0.22163703F, 0.41569415F,  0.24657731F,  0.18821296F,
                            0.12051213F,    0.28670087F,  -0.39959398F, 0.18417889F,  0.18083306F,
                            -0.53031558F,   0.10410903F,  -0.07512641F, 0.23445682F,  -0.13171867F,
                            -0.0054722577F, 0.10285546F,  -0.26287854F, 0.17957899F,  -0.031488959F,
                            0.14774479F,    -0.15655127F})}};
    const std::map<std::string, std::vector<double>> inputs{
        {"x",
         {1.0862015F, 0.60520196F, -0.17802502F, 0.63195735F, 1.2597551F, 1.7911755F, -1.5735763F,
          0.8831318F, 0.46506852F, -0.093860783F, -1.006665F, 1.2571886F}},
        {"h0",
         {-0.63086897F, 0.28347275F, 0.65093398F, -0.79983467F, -0.15125892F, -0.65460843F,
          0.12202705F, 0.75718755F}},
        {"c0",
         {1.011778F, -0.88905722F, -0.28747451F, 0.35177255F, 0.78968632F, 0.21060532F,
          -0.37307599F, 0.14856575F}}};
    LowerRequest request = bodyFrom(bodyOf(c), constants);
    leaveOut(request);
    std::vector<ReferenceValue> values = inputsFor(request);
    for (size_t i = 0; i < values.size(); ++i)
        if (auto given = inputs.find(request.body->value(request.body->inputs()[i]).name);
            given != inputs.end())
            values[i].floats = given->second;
    ThreadPool pool(1);
    Progress progress;
    auto got = interpret(*request.body, values, pool, progress);
    ASSERT_TRUE(got) << got.error().text();
    const std::vector<std::vector<double>> wanted{
        {0.4316192,  -0.1854964,  -0.138627,  0.009795816, -0.5819504,  0.1414184,
         0.08026131, 0.1038807,   0.3742138,  -0.07104844, -0.1248398,  0.2974106,
         -0.4705277, 0.1911526,   0.07036854, 0.05205658,  0.2881838,   -0.1119288,
         -0.1828227, -0.01757137, 0.06146327, 0.03770069,  -0.06063753, 0.04302734},
        {0.2881838, -0.1119288, -0.1828227, -0.01757137, -0.5819504, 0.1414184, 0.08026131,
         0.1038807},
        {0.4280457, -0.2164178, -0.6067989, -0.02369302, -0.931963, 0.5189145, 0.1156736,
         0.2726348}};
    for (size_t i = 0; i < wanted.size(); ++i)
        for (size_t j = 0; j < wanted[i].size(); ++j)
            EXPECT_NEAR((*got)[i].floats[j], wanted[i][j], 3e-7) << i << " " << j;
}

TEST(QuantizedLstm, AllIntegersAreThoseOfTheReference) {
    uint32_t seed = 0;
    for (const char* direction : {"forward", "reverse", "bidirectional"})
        for (DType dtype : {DType::UInt8, DType::Int8})
            for (bool perRow : {false, true}) {
                QuantizedLstmCase c;
                c.direction = direction;
                c.weights = dtype;
                c.perRow = perRow;
                c.batch = seed % 3 + 1;
                c.inputs = 1 + seed * 7 % 40;
                c.hidden = 3 + seed * 5 % 30;
                c.length = 1 + seed % 7;
                c.bias = seed % 4 != 1;
                c.initial = seed % 3 != 1;
                EXPECT_TRUE(tacticOf(c, ++seed).starts_with("quantised lstm"));
                if (HasFailure())
                    return;
            }
}

TEST(QuantizedLstm, ManySequencesShareTheRangeOfTheirStates) {
    EXPECT_TRUE(tacticOf({.batch = 21, .hidden = 64}, 7).starts_with("quantised lstm"));
    EXPECT_TRUE(tacticOf({.direction = "bidirectional", .batch = 9, .hidden = 48}, 8)
                    .starts_with("quantised lstm"));
}

TEST(QuantizedLstm, ZeroStatesAreQuantisedToTheirZeroPoint) {
    QuantizedLstmCase c{.length = 2, .initial = false};
    auto constants = constantsOf(c, 3);
    const CpuRun run = expectLibrary(bodyOf(c), constants, 2e-6, [](auto& inputs) {
        std::fill(inputs[0].floats.begin(), inputs[0].floats.end(), 0.0);
    });
    EXPECT_TRUE(run.tactic.starts_with("quantised lstm"));
}

TEST(QuantizedLstm, WhatTheKernelDoesNotTakeRunsByTheReference) {
    const std::string usual = ", activations=[\"Sigmoid\",\"Tanh\",\"Tanh\"]";
    EXPECT_TRUE(tacticOf({.attributes = usual}, 1).starts_with("quantised lstm"));
    for (const char* attributes :
         {", clip=0.5", ", input_forget=1", ", activations=[\"HardSigmoid\",\"Tanh\",\"Tanh\"]"})
        EXPECT_EQ(whyNot({.attributes = attributes}, ""), "cpu.support") << attributes;
    EXPECT_EQ(whyNot({}, "rs"), "cpu.support") << "a scale varies";
    EXPECT_EQ(whyNot({}, "w"), "cpu.support") << "weights vary";
    EXPECT_EQ(whyNot({.inputs = 16400, .hidden = 1}, ""), "cpu.shape") << "sums may leave int32";
}
