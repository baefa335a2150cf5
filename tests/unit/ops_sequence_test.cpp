// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, quantization, control flow, sequences, signal, random, strings and losses:
// what backend tests do not show, and operands that must be refused.
#include "tests/unit/ops_harness.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace fuselage;
using namespace fuselage::testing;

namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;
using Words = std::vector<std::string>;

ReferenceValue sequence(std::vector<ReferenceValue> elements) {
    ReferenceValue out;
    out.kind = TypeKind::Sequence;
    out.dtype = elements.empty() ? DType::Float32 : elements[0].dtype;
    out.elements = std::move(elements);
    return out;
}

/// One-unit RNN that adds its input to its state.
Result<std::vector<ReferenceValue>> accumulate(const char* direction, const ReferenceValue& lengths,
                                               int64_t layout) {
    const int64_t directions = std::string(direction) == "bidirectional" ? 2 : 1;
    const std::vector<double> ones(static_cast<size_t>(directions), 1.0);
    const Words activations(static_cast<size_t>(directions), "Affine");
    const ReferenceValue x =
        layout == 0 ? floats({3, 1, 1}, {1, 2, 4}) : floats({1, 3, 1}, {1, 2, 4});
    return run(
        Op::RNN,
        {x, floats({directions, 1, 1}, ones), floats({directions, 1, 1}, ones), omitted(), lengths},
        {{"direction", std::string(direction)},
         {"activations", activations},
         {"activation_alpha", ones},
         {"layout", layout}},
        2);
}

} // namespace

TEST(Recurrent, ReverseStartsAtTheLengthOfEachSequence) {
    auto out = accumulate("reverse", ints({1}, {2}, DType::Int32), 0);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (Doubles{3, 2, 0}));
    EXPECT_EQ((*out)[1].floats, (Doubles{3}));
}

TEST(Recurrent, BothDirectionsLieSideBySide) {
    auto out = accumulate("bidirectional", omitted(), 0);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{3, 2, 1, 1}));
    EXPECT_EQ((*out)[0].floats, (Doubles{1, 7, 3, 6, 7, 4}));
}

TEST(Recurrent, BatchFirstLayoutMovesTheBatch) {
    auto out = accumulate("forward", omitted(), 1);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{1, 3, 1, 1}));
    EXPECT_EQ((*out)[1].extents, (Extents{1, 1, 1}));
}

TEST(Recurrent, LengthsBeyondTheSequenceAreRefused) {
    EXPECT_FALSE(accumulate("forward", ints({1}, {4}, DType::Int32), 0));
    EXPECT_FALSE(accumulate("forward", ints({2}, {1, 1}, DType::Int32), 0));
}

TEST(Recurrent, WeightsThatDoNotFitAreRefused) {
    EXPECT_FALSE(run(Op::LSTM, {counting({2, 1, 3}), counting({1, 8, 2}), counting({1, 8, 2})}));
    EXPECT_FALSE(run(Op::GRU, {counting({2, 3}), counting({1, 6, 3}), counting({1, 6, 2})}));
}

TEST(RecurrentInference, DynamicLengthAndBatchStaySymbols) {
    const Dim s = Dim::symbol("S");
    const Dim n = Dim::symbol("N");
    Inference out(Op::LSTM, {known({s, n, 8}), known({2, 16, 8}), known({2, 16, 4})},
                  {{"direction", std::string("bidirectional")}}, 3);
    EXPECT_EQ(out.type(0), "float[S,2,N,4]");
    EXPECT_EQ(out.type(2), "float[2,N,4]");
}

TEST(Quantize, BlocksHaveTheirOwnScale) {
    auto out =
        run(Op::DequantizeLinear, {ints({4}, {1, 2, 3, 4}, DType::Int8), floats({2}, {1, 10})},
            {{"axis", int64_t(0)}, {"block_size", int64_t(2)}});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (Doubles{1, 2, 30, 40}));
}

TEST(Quantize, ValuesSaturateAndTiesGoToEven) {
    auto out = run(Op::QuantizeLinear, {floats({4}, {0.5, 1.5, 1000, -1000}), floats({}, {1}),
                                        ints({}, {0}, DType::Int8)});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].ints, (Ints{0, 2, 127, -128}));
}

TEST(Quantize, ScalesThatDoNotFitAreRefused) {
    EXPECT_FALSE(run(Op::QuantizeLinear, {counting({2, 3}), floats({2}, {1, 1})}));
    EXPECT_FALSE(
        run(Op::DequantizeLinear, {ints({2}, {1, 2}), floats({1}, {1}), ints({2}, {0, 0})}));
}

TEST(Sequence, PositionsAreChecked) {
    const ReferenceValue two = sequence({counting({1}), counting({2})});
    EXPECT_TRUE(run(Op::SequenceAt, {two, ints({}, {-2})}));
    EXPECT_FALSE(run(Op::SequenceAt, {two, ints({}, {2})}));
    EXPECT_FALSE(run(Op::SequenceAt, {counting({2}), ints({}, {0})}));
    EXPECT_FALSE(run(Op::SequenceErase, {sequence({})}));
    EXPECT_TRUE(run(Op::SequenceInsert, {two, counting({1}), ints({}, {2})}));
    EXPECT_FALSE(run(Op::SequenceInsert, {two, counting({1}), ints({}, {3})}));
}

TEST(Sequence, JoiningOnANewAxisStacks) {
    auto out = run(Op::ConcatFromSequence, {sequence({floats({2}, {1, 2}), floats({2}, {3, 4})})},
                   {{"axis", int64_t(1)}, {"new_axis", int64_t(1)}});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{2, 2}));
    EXPECT_EQ((*out)[0].floats, (Doubles{1, 3, 2, 4}));
}

TEST(Sequence, SplittingLeavesAShorterLastPiece) {
    auto out = run(Op::SplitToSequence, {counting({5}), ints({}, {2})});
    ASSERT_TRUE(out) << out.error().text();
    ASSERT_EQ((*out)[0].elements.size(), 3U);
    EXPECT_EQ((*out)[0].elements[2].floats, (Doubles{4}));
    EXPECT_FALSE(run(Op::SplitToSequence, {counting({5}), ints({}, {0})}));
}

TEST(Signal, TransformOfAnOddLengthInvertsItself) {
    auto forward =
        run(Op::DFT, {floats({1, 15, 1}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9})});
    ASSERT_TRUE(forward) << forward.error().text();
    EXPECT_NEAR((*forward)[0].floats[0], 77, 1e-9);
    auto back = run(Op::DFT, {(*forward)[0]}, {{"inverse", int64_t(1)}});
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_NEAR((*back)[0].floats[2], 1, 1e-9);
    EXPECT_NEAR((*back)[0].floats[3], 0, 1e-9);
    EXPECT_NEAR((*back)[0].floats[28], 9, 1e-9);
}

TEST(Signal, LengthsOutOfRangeAreRefused) {
    EXPECT_FALSE(run(Op::DFT, {counting({1, 4, 1}), ints({}, {INT64_MAX})}));
    EXPECT_FALSE(run(Op::DFT, {counting({1, 4, 3})}));
    EXPECT_FALSE(run(Op::STFT, {counting({1, 4}), ints({}, {0}), omitted(), ints({}, {2})}));
    EXPECT_FALSE(run(Op::HannWindow, {ints({}, {-1})}));
}

TEST(SignalInference, FramesOfASymbolicSignal) {
    Inference out(Op::STFT, {known({1, Dim::symbol("T")}), scalarContents(2), std::nullopt,
                             scalarContents(8)});
    EXPECT_EQ(out.type(), "float[1,floor((T-8)/2)+1,5,2]");
}

TEST(Random, OneNodeGivesOneSequenceOfNumbers) {
    const AttributeList shape{{"shape", Ints{1000}}};
    auto first = run(Op::RandomNormal, {}, shape);
    auto second = run(Op::RandomNormal, {}, shape);
    ASSERT_TRUE(first && second);
    EXPECT_EQ((*first)[0].floats, (*second)[0].floats);
    double sum = 0;
    double squares = 0;
    for (double value : (*first)[0].floats) {
        sum += value;
        squares += value * value;
    }
    EXPECT_NEAR(sum / 1000, 0, 0.15);
    EXPECT_NEAR(squares / 1000, 1, 0.2);
}

TEST(Random, HugeShapesAreRefused) {
    EXPECT_FALSE(run(Op::RandomUniform, {}, {{"shape", Ints{INT64_MAX, 4}}}));
    EXPECT_FALSE(run(Op::RandomUniform, {}, {{"shape", Ints{-1}}}));
}

TEST(Strings, SplitAtSpacesAndDelimiters) {
    auto spaces = run(Op::StringSplit, {strings({2}, {" a  b ", "c"})}, {}, 2);
    ASSERT_TRUE(spaces) << spaces.error().text();
    EXPECT_EQ((*spaces)[0].strings, (Words{"a", "b", "c", ""}));
    EXPECT_EQ((*spaces)[1].ints, (Ints{2, 1}));
    auto limited = run(Op::StringSplit, {strings({1}, {"a-b-c"})},
                       {{"delimiter", std::string("-")}, {"maxsplit", int64_t(1)}}, 2);
    ASSERT_TRUE(limited) << limited.error().text();
    EXPECT_EQ((*limited)[0].strings, (Words{"a", "b-c"}));
}

TEST(Strings, PatternsMatchWholeStringsAndBadOnesAreRefused) {
    const auto match = [](const char* pattern) {
        return run(Op::RegexFullMatch, {strings({2}, {"ab12", "ab"})},
                   {{"pattern", std::string(pattern)}});
    };
    auto out = match("[a-z]+[0-9]+");
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].ints, (Ints{1, 0}));
    EXPECT_FALSE(match("(("));
}

TEST(Strings, PatternsThatBacktrackEndInTime) {
    auto out = run(Op::RegexFullMatch, {strings({1}, {std::string(40, 'a') + "b"})},
                   {{"pattern", std::string("(a*)*")}});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].ints, (Ints{0}));
}

TEST(Losses, LabelsOutsideOfTheClassesAreRefused) {
    EXPECT_FALSE(run(Op::NegativeLogLikelihoodLoss, {counting({1, 3}), ints({1}, {3})}));
    EXPECT_FALSE(run(Op::SoftmaxCrossEntropyLoss, {counting({1, 3}), ints({1}, {-1})}));
    EXPECT_TRUE(run(Op::SoftmaxCrossEntropyLoss, {counting({1, 3}), ints({1}, {-1})},
                    {{"ignore_index", int64_t(-1)}}));
}
