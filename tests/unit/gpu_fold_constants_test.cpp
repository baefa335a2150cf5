// SPDX-License-Identifier: Apache-2.0
// What constants alone decide is computed before a kernel is written: tables in their place.
#include "gpu/emit/fold_constants.h"
#include "gpu/kernels/variant_table.h"
#include "gpu_libs_support.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

using namespace fuselage;
using namespace fuselage::testing_gpu;
using Kind = KernelArgument::Kind;

const char* const convBnRelu =
    "(float[2,4,9,9] x, float[6,4,3,3] w, float[6] s, float[6] b, float[6] m, float[6] v) => "
    "(float[2,6,9,9] y) { c = Conv<kernel_shape=[3,3],pads=[1,1,1,1]>(x, w)"
    " n = BatchNormalization(c, s, b, m, v)  y = Relu(n) }";

std::map<std::string, Tensor> parameters() {
    return {{"w", weightsOf({6, 4, 3, 3})},
            {"s", weightsOf({6}, DType::Float32, 3)},
            {"b", weightsOf({6}, DType::Float32, 4)},
            {"m", weightsOf({6}, DType::Float32, 5)},
            {"v", Tensor::ofFloats({6}, {0.5F, 0.75F, 1, 2, 3, 4})}};
}

struct FoldCase : LibraryCase {
    explicit FoldCase(const char* text = convBnRelu,
                      const std::map<std::string, Tensor>& constants = parameters())
        : LibraryCase(text, constants) {}
};

bool hasOp(const Tape& tape, TapeOp op) {
    return std::any_of(tape.code.begin(), tape.code.end(),
                       [=](const TapeInstruction& x) { return x.op == op; });
}

TEST(FoldConstants, BatchNormalizationIsTwoNumbersAChannel) {
    const FoldCase made;
    const auto folded = foldConstants(made.request);
    ASSERT_NE(folded, nullptr);
    ASSERT_EQ(folded->tables.size(), 2U);
    EXPECT_EQ(folded->given, (std::vector<std::optional<uint32_t>>{0, 1, {}, {}}));
    const Tape& tape = std::get<Contraction>(folded->program.code).epilogue.tape;
    EXPECT_FALSE(hasOp(tape, TapeOp::Sqrt)) << tape.text();
    EXPECT_FALSE(hasOp(tape, TapeOp::Div)) << tape.text();
    EXPECT_FALSE(folded->reads(5)) << "the variance";
    float scale = 0;
    std::memcpy(&scale, folded->tables[0].data(), sizeof scale);
    const auto given = parameters();
    EXPECT_NEAR(scale, given.at("s").at(0) / std::sqrt(given.at("v").at(0) + 1e-5), 1e-6);
}

void expectTheSame(const FoldedRequest& folded, const KernelProgram& program,
                   const std::vector<ReferenceValue>& inputs) {
    std::vector<ReferenceValue> values;
    for (size_t i = 0; i < folded.given.size(); ++i)
        values.push_back(folded.given[i] ? inputs[*folded.given[i]]
                                         : ReferenceValue::from(*folded.request.constants[i]));
    auto got = evaluate(folded.program, values), wanted = evaluate(program, inputs);
    ASSERT_TRUE(got && wanted);
    ASSERT_EQ(got->outputs.size(), wanted->outputs.size());
    for (size_t k = 0; k < wanted->outputs.size(); ++k)
        for (size_t i = 0; i < wanted->outputs[k].floats.size(); ++i)
            ASSERT_NEAR(got->outputs[k].floats[i], wanted->outputs[k].floats[i],
                        1e-6 * std::max(10.0, std::fabs(wanted->outputs[k].floats[i])))
                << i;
}

TEST(FoldConstants, TheFoldedProgramComputesTheSame) {
    const FoldCase made;
    const auto folded = foldConstants(made.request);
    ASSERT_NE(folded, nullptr);
    expectTheSame(*folded, made.program, inputsFor(made.body));
}

TEST(FoldConstants, ARowReadsOneTableInAllOfItsPasses) {
    const FoldCase made("(float[5,6] x, float[6] s) => (float[5,6] y) {"
                        " u = Sqrt(s)  a = Mul(x, u)  y = Softmax<axis=-1>(a) }",
                        {{"s", Tensor::ofFloats({6}, {1, 2, 3, 4, 5, 6})}});
    const auto folded = foldConstants(made.request);
    ASSERT_NE(folded, nullptr);
    EXPECT_EQ(folded->tables.size(), 1U);
    EXPECT_EQ(folded->given, (std::vector<std::optional<uint32_t>>{0, {}}));
    const Row& row = std::get<Row>(folded->program.code);
    EXPECT_EQ(row.reads.size(), 2U);
    EXPECT_GT(row.stages.size(), 1U);
    for (const Row::Stage& stage : row.stages)
        EXPECT_FALSE(hasOp(stage.map, TapeOp::Sqrt)) << stage.map.text();
    EXPECT_FALSE(hasOp(row.element, TapeOp::Sqrt)) << row.element.text();
    expectTheSame(*folded, made.program, inputsFor(made.body));
}

TEST(FoldConstants, WhatARowAddsToItsScalarsStays) {
    const FoldCase made("(float[5,6] x, float[6] s, float[6] b) => (float[5,6] y) {"
                        " u = Exp(s)  n = LayerNormalization<axis=-1>(x, s, b)  y = Mul(n, u) }",
                        {{"s", Tensor::ofFloats({6}, {1, 2, 3, 4, 5, 6})}, {"b", weightsOf({6})}});
    const auto folded = foldConstants(made.request);
    ASSERT_NE(folded, nullptr);
    EXPECT_FALSE(hasOp(std::get<Row>(folded->program.code).element, TapeOp::Exp));
    expectTheSame(*folded, made.program, inputsFor(made.body));
}

TEST(FoldConstants, ARowKeepsItsNarrowParametersAndReadsWhatItNeeds) {
    Tensor roots(DType::Float16, {6});
    for (int64_t i = 0; i < 6; ++i)
        roots.set(i, static_cast<double>(i + 1));
    const FoldCase made("(float16[5,6] x, float16[6] s, float16[6] b, float16[6] r) => "
                        "(float16[5,6] y) { n = LayerNormalization<axis=-1>(x, s, b)"
                        " u = Sqrt(r)  y = Mul(n, u) }",
                        {{"s", weightsOf({6}, DType::Float16, 3)},
                         {"b", weightsOf({6}, DType::Float16, 4)},
                         {"r", std::move(roots)}});
    const auto folded = foldConstants(made.request);
    ASSERT_NE(folded, nullptr);
    EXPECT_EQ(folded->given, (std::vector<std::optional<uint32_t>>{0, 1, 2, {}}));
    expectTheSame(*folded, made.program, inputsFor(made.body));
}

TEST(FoldConstants, MembersOfAGroupAreFoldedEachOnItsOwn) {
    const std::map<std::string, Tensor> scale = {{"s", Tensor::ofFloats({6}, {1, 2, 3, 4, 5, 6})}};
    const FoldCase plain("(float[5,6] x, float[6] s) => (float[5,6] y) { y = Mul(x, s) }", scale);
    const FoldCase root("(float[5,6] x, float[6] s) => (float[5,6] y) {"
                        " u = Sqrt(s)  y = Mul(x, u) }",
                        scale);
    KernelProgram group;
    KernelRequest request;
    std::vector<ReferenceValue> inputs;
    Group code;
    for (const FoldCase* one : {&plain, &root}) {
        const KernelRequest& of = one->request;
        code.members.push_back(one->program);
        for (auto [to, from] :
             {std::pair(&request.inputs, &of.inputs), std::pair(&request.outputs, &of.outputs)})
            to->insert(to->end(), from->begin(), from->end());
        request.constants.insert(request.constants.end(), of.constants.begin(), of.constants.end());
        for (auto [to, from] : {std::pair(&group.inputs, &one->program.inputs),
                                std::pair(&group.outputs, &one->program.outputs)})
            to->insert(to->end(), from->begin(), from->end());
        for (ReferenceValue& value : inputsFor(one->body))
            inputs.push_back(std::move(value));
    }
    group.code = std::move(code);
    request.program = &group;
    const auto folded = foldConstants(request);
    ASSERT_NE(folded, nullptr);
    EXPECT_EQ(folded->given, (std::vector<std::optional<uint32_t>>{0, 1, 2, {}}));
    const Group& after = std::get<Group>(folded->program.code);
    EXPECT_FALSE(hasOp(std::get<Pointwise>(after.members[1].code).tape, TapeOp::Sqrt));
    expectTheSame(*folded, group, inputs);
    const Candidates candidates = emitAll(request);
    ASSERT_EQ(candidates.accepted.size(), 1U);
    const std::vector<KernelArgument>& arguments = candidates.accepted[0].kernels.at(0).arguments;
    ASSERT_GE(arguments.size(), 4U);
    EXPECT_EQ(arguments[2].kind, Kind::Input);
    EXPECT_EQ(arguments[2].index, 2U);
    EXPECT_EQ(arguments[3].kind, Kind::Table);
    EXPECT_EQ(arguments[3].index, 0U);
}

TEST(FoldConstants, KernelsReadTablesInPlaceOfTheParameters) {
    const FoldCase made;
    const Candidates candidates = emitAll(made.request);
    ASSERT_FALSE(candidates.accepted.empty());
    for (const KernelSet& set : candidates.accepted) {
        SCOPED_TRACE(set.variant);
        EXPECT_EQ(set.tables.size(), 2U);
        for (const KernelText& kernel : set.kernels)
            for (const KernelArgument& argument : kernel.arguments)
                EXPECT_FALSE(argument.kind == Kind::Input && argument.index > 1)
                    << "operand " << argument.index;
        for (const PackedOperand& packed : set.packed)
            EXPECT_EQ(packed.input, 1U);
    }
}

TEST(FoldConstants, StrictRequestsKeepEveryStep) {
    FoldCase made;
    made.request.strict = true;
    EXPECT_EQ(foldConstants(made.request), nullptr);
}

TEST(FoldConstants, ParametersThatAreNotKnownStay) {
    FoldCase made;
    made.request.constants[5] = nullptr;
    const auto folded = foldConstants(made.request);
    EXPECT_TRUE(folded == nullptr || folded->reads(5));
}

} // namespace
