// SPDX-License-Identifier: Apache-2.0
// What `run --verify` says of right numbers, of wrong ones, and which judge it asks.
#include "app/pipeline/inputs.h"
#include "app/pipeline/run_check.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

struct Ran {
    Graph model;
    std::vector<Tensor> inputs, outputs;
};

Ran fusedRun(const CompileOptions& compile) {
    Ran out{*model_io::loadText("g (float[4,8] x, float[8,6] w) => (float[4,6] y, int64[2] s) {"
                                " m = MatMul(x, w)  y = Relu(m)  s = Shape(y) }"),
            {},
            {}};
    Progress progress;
    EXPECT_TRUE(prepareGraph(out.model, progress));
    out.inputs = *app::generateInputs(out.model, 3);
    auto compiled = CompiledGraph::compile(fuseWhole(out.model, "Whole"), compile);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text());
    out.outputs = *compiled->run(out.inputs);
    return out;
}

std::vector<app::OutputAgreement> found(const Ran& ran, bool fused, const CompileOptions& compile) {
    Progress progress;
    const Graph whole = fuseWhole(ran.model, "Whole");
    auto out = app::checkRun(ran.model, fused ? &whole : nullptr, ran.inputs, ran.outputs, compile,
                             progress);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? *out : std::vector<app::OutputAgreement>{};
}

CompileOptions onCpu(Precision precision = Precision::Fp32) {
    CompileOptions out;
    out.backend = BackendKind::Cpu;
    out.threads = 1;
    out.precision = precision;
    return out;
}

bool allOk(const std::vector<app::OutputAgreement>& outputs) {
    for (const app::OutputAgreement& output : outputs)
        if (!output.ok)
            return false;
    return true;
}

} // namespace

TEST(RunCheck, RightNumbersNeedNoInterpreter) {
    const Ran ran = fusedRun(onCpu());
    const auto outputs = found(ran, true, onCpu());
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_TRUE(allOk(outputs));
    EXPECT_EQ(outputs[0].side, "fused, against unfused");
    EXPECT_EQ(outputs[0].output, "y");
}

TEST(RunCheck, WrongNumbersAreJudgedAndNamed) {
    Ran ran = fusedRun(onCpu());
    ran.outputs[0].as<float>()[5] += 0.5F;
    const auto outputs = found(ran, true, onCpu());
    ASSERT_EQ(outputs.size(), 4U); // the judge says which side is wrong
    EXPECT_EQ(outputs[0].side, "unfused");
    EXPECT_TRUE(outputs[0].ok);
    EXPECT_EQ(outputs[1].side, "fused");
    EXPECT_FALSE(outputs[1].ok);
    EXPECT_TRUE(outputs[3].ok);
}

TEST(RunCheck, AnUnfusedRunIsJudgedByTheInterpreter) {
    Ran ran = fusedRun(onCpu());
    EXPECT_TRUE(allOk(found(ran, false, onCpu())));
    ran.outputs[0].as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(allOk(found(ran, false, onCpu())));
}

// The unfused run in 16 bits has the same infinity.
TEST(RunCheck, WhatDoesNotFitInto16BitsIsWrong) {
    Ran ran{*model_io::loadText("g (float[2] x) => (float[2] y) { e = Exp(x)  y = Neg(e) }"),
            {Tensor::ofFloats({2}, {1, 15})},
            {}};
    Progress progress;
    ASSERT_TRUE(prepareGraph(ran.model, progress));
    const CompileOptions half = onCpu(Precision::Fp16);
    auto compiled = CompiledGraph::compile(ran.model.clone(), half);
    ASSERT_TRUE(compiled) << compiled.error().text();
    ran.outputs = *compiled->run(ran.inputs);
    ASSERT_TRUE(std::isinf(ran.outputs[0].at(1)));
    EXPECT_FALSE(allOk(found(ran, true, half)));
}

TEST(RunCheck, OfAnEmptyOutputNothingIsCompared) {
    Ran ran{*model_io::loadText("g (float[0,2] x) => (float[0,2] y) { y = Neg(x) }"),
            {Tensor(DType::Float32, {0, 2})},
            {Tensor(DType::Float32, {0, 2})}};
    const auto outputs = found(ran, false, onCpu());
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_TRUE(outputs[0].ok && outputs[0].empty);
    EXPECT_EQ(outputs[0].note, "");
}

TEST(RunCheck, StorageIn16BitsMayCostWhatItCosts) {
    const CompileOptions half = onCpu(Precision::Fp16);
    Ran ran = fusedRun(half);
    EXPECT_TRUE(allOk(found(ran, true, half)));
    EXPECT_TRUE(allOk(found(ran, false, half)));
    for (float& number : ran.outputs[0].as<float>())
        number *= 1.5F;
    EXPECT_FALSE(allOk(found(ran, true, half)));
}

// A zero of the other sign is the same number, and not the same bits.
TEST(RunCheck, AStrictRunIsComparedBitByBit) {
    CompileOptions strict = onCpu();
    strict.strict = true;
    Ran ran{*model_io::loadText("g (float[3] x) => (float[3] y) { e = Abs(x)  y = Floor(e) }"),
            {Tensor::ofFloats({3}, {0, -2.5F, 3})},
            {Tensor::ofFloats({3}, {0, 2, 3})}};
    Progress progress;
    ASSERT_TRUE(prepareGraph(ran.model, progress));
    auto outputs = found(ran, true, strict);
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_TRUE(outputs[0].ok);
    EXPECT_EQ(outputs[0].note, "every bit of its 3 elements is that of the unfused run");
    ran.outputs[0].as<float>()[0] = -0.0F;
    EXPECT_TRUE(allOk(found(ran, true, onCpu())));
    outputs = found(ran, true, strict);
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_FALSE(outputs[0].ok);
    EXPECT_NE(outputs[0].note.find("1 of 3 elements differ"), std::string::npos);
    CompileOptions half = onCpu(Precision::Fp16);
    half.strict = true;
    ran.outputs[0].as<float>()[0] = 0.0F;
    outputs = found(ran, true, half); // bits in fp16, and how far that is from fp32
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_TRUE(allOk(outputs));
}

// As bench says: the tail of a Sigmoid moves as far as its logits, which hold three digits.
TEST(RunCheck, In16BitsSmallResultsMayMoveAsFarAsTheirInputsMoveThem) {
    Ran ran{
        *model_io::loadText("g (float[16,8] x) => (float[16,1] y) "
                            "<float[8,1] w = {60, -37, 51, 44, -58, 23, -49, 60}, float k = {9}>"
                            "{ m = MatMul(x, w) a = Abs(m) n = Neg(a) l = Sub(n, k)"
                            "  y = Sigmoid(l) }"),
        {},
        {}};
    Progress progress;
    ASSERT_TRUE(prepareGraph(ran.model, progress));
    ran.inputs = *app::generateInputs(ran.model, 1);
    const CompileOptions half = onCpu(Precision::Fp16);
    auto compiled = CompiledGraph::compile(ran.model.clone(), half);
    ASSERT_TRUE(compiled) << compiled.error().text();
    ran.outputs = *compiled->run(ran.inputs);
    const auto outputs = found(ran, false, half);
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(outputs[0].side, "inputs");
    EXPECT_TRUE(allOk(outputs));
    for (float& number : ran.outputs[0].as<float>())
        number *= 3;
    EXPECT_FALSE(allOk(found(ran, false, half)));
}

namespace {

/// The outputs of the model's own nodes.
void runPlain(Ran& ran) {
    Progress progress;
    ASSERT_TRUE(prepareGraph(ran.model, progress));
    ran.inputs = *app::generateInputs(ran.model, 1);
    auto compiled = CompiledGraph::compile(ran.model.clone(), onCpu());
    ASSERT_TRUE(compiled) << compiled.error().text();
    ran.outputs = *compiled->run(ran.inputs);
}

} // namespace

// The last Cast hides the type whose roundings they have.
TEST(RunCheck, AModelOfHalvesMayLoseWhatHalvesLose) {
    Ran ran{*model_io::loadText(
                "g (float[4,32] x, float[32,32] w) => (float[4,32] y) { a = Cast<to = 16>(x) "
                " b = Cast<to = 16>(w)  m = MatMul(a, b)  t = Tanh(m)  y = Cast<to = 1>(t) }"),
            {},
            {}};
    runPlain(ran);
    EXPECT_TRUE(allOk(found(ran, false, onCpu())));
    EXPECT_TRUE(allOk(found(ran, true, onCpu())));
    for (float& number : ran.outputs[0].as<float>())
        number *= 1.5F;
    EXPECT_FALSE(allOk(found(ran, true, onCpu())));
}

// A step of a quantiser is larger than any limit of floats, and roundings alone make it.
TEST(RunCheck, AStepOfAQuantiserIsNoMistake) {
    Ran ran{*model_io::loadText(
                "g (float[1] x) => (float[1] y) <float s = {0.1}, float h = {0.3}, uint8 z = {0}> {"
                " m = Mul(x, h)  q = QuantizeLinear(m, s, z)  y = DequantizeLinear(q, s, z) }"),
            {},
            {}};
    runPlain(ran);
    // Between two steps, as near as floats are: 0.5 * 0.3 / 0.1.
    ran.inputs[0].as<float>()[0] = 0.5F;
    for (float either : {0.1F, 0.2F}) {
        ran.outputs[0].as<float>()[0] = either;
        EXPECT_TRUE(allOk(found(ran, false, onCpu()))) << either;
    }
    ran.outputs[0].as<float>()[0] = 0.9F;
    EXPECT_FALSE(allOk(found(ran, false, onCpu())));
}
