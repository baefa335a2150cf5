// SPDX-License-Identifier: Apache-2.0
// What constants alone decide is computed before a kernel is written: tables in their place.
#include "gpu/fold_constants.h"
#include "gpu_libs_support.h"

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
    explicit FoldCase(const char* text = convBnRelu) : LibraryCase(text, parameters()) {
        request.emit.contents = body.constants;
        for (const TensorPtr& constant : body.constants)
            request.emit.constants.push_back(constant != nullptr);
    }
};

bool hasOp(const Tape& tape, TapeOp op) {
    return std::any_of(tape.code.begin(), tape.code.end(),
                       [=](const TapeInstruction& x) { return x.op == op; });
}

TEST(FoldConstants, BatchNormalizationIsTwoNumbersAChannel) {
    const FoldCase made;
    const auto folded = foldConstants(made.request.emit);
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

TEST(FoldConstants, TheFoldedProgramComputesTheSame) {
    const FoldCase made;
    const auto folded = foldConstants(made.request.emit);
    ASSERT_NE(folded, nullptr);
    const std::vector<ReferenceValue> inputs = inputsFor(made.body);
    std::vector<ReferenceValue> values;
    for (size_t i = 0; i < folded->given.size(); ++i)
        values.push_back(folded->given[i] ? inputs[*folded->given[i]]
                                          : ReferenceValue::from(*folded->request.contents[i]));
    auto got = evaluate(folded->program, values), wanted = evaluate(made.program, inputs);
    ASSERT_TRUE(got && wanted);
    for (size_t i = 0; i < wanted->outputs[0].floats.size(); ++i)
        ASSERT_NEAR(got->outputs[0].floats[i], wanted->outputs[0].floats[i], 1e-5) << i;
}

TEST(FoldConstants, KernelsReadTablesInPlaceOfTheParameters) {
    const FoldCase made;
    const Candidates candidates = emitAll(made.request.emit);
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
    made.request.emit.strict = true;
    EXPECT_EQ(foldConstants(made.request.emit), nullptr);
}

TEST(FoldConstants, ParametersThatAreNotKnownStay) {
    FoldCase made;
    made.request.emit.contents[5] = nullptr;
    const auto folded = foldConstants(made.request.emit);
    EXPECT_TRUE(folded == nullptr || folded->reads(5));
}

} // namespace
