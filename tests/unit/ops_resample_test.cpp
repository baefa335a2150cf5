// SPDX-License-Identifier: Apache-2.0
// Resampling and detection: what opsets 18 to 20 added, symbolic sizes, hostile operands.
#include "tests/unit/ops_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace fuselage;
using namespace fuselage::testing;

namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

const Dim batch = Dim::symbol("N");

void expectNear(const Doubles& found, const Doubles& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-6) << "at " << i;
}

} // namespace

TEST(Resize, AntialiasAveragesWhatIsSkipped) {
    auto out = run(Op::Resize, {floats({4}, {1, 2, 3, 4}), omitted(), floats({1}, {0.5})},
                   {{"mode", std::string("linear")}, {"antialias", int64_t(1)}});
    ASSERT_TRUE(out) << out.error().text();
    // Triangles of half-width 2 around 0.5 and 2.5; the edge repeats outside.
    expectNear((*out)[0].floats,
               {(1 * 1 + 1 * 3 + 2 * 3 + 3 * 1) / 8.0, (2 * 1 + 3 * 3 + 4 * 3 + 4 * 1) / 8.0});
}

TEST(Resize, OneElementOfPytorchHalfPixelIsTheFirst) {
    auto out = run(Op::Resize, {floats({3}, {5, 1, 2}), omitted(), omitted(), ints({1}, {1})},
                   {{"mode", std::string("cubic")},
                    {"coordinate_transformation_mode", std::string("pytorch_half_pixel")}});
    ASSERT_TRUE(out) << out.error().text();
    expectNear((*out)[0].floats, {5});
}

TEST(Resize, AxesLeaveTheOthersAlone) {
    auto out = run(Op::Resize, {counting({2, 2}), omitted(), omitted(), ints({1}, {4})},
                   {{"axes", Ints{1}}});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{2, 4}));
    EXPECT_EQ((*out)[0].floats, (Doubles{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(Resize, KeptAspectRatioFitsInside) {
    auto out = run(Op::Resize, {counting({2, 4}), omitted(), omitted(), ints({2}, {6, 6})},
                   {{"keep_aspect_ratio_policy", std::string("not_larger")}});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{3, 6}));
}

TEST(Resize, SizesFromScalesFollowFloatArithmetic) {
    // 10 * 0.7 is 7 in float and a little less in double.
    auto out = run(Op::Resize, {counting({10}), omitted(), floats({1}, {0.7f})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{7}));
}

TEST(Resize, HostileSizesAndScalesAreRefused) {
    EXPECT_FALSE(run(Op::Resize, {counting({4}), omitted(), omitted(), ints({1}, {INT64_MAX})}));
    EXPECT_FALSE(run(Op::Resize, {counting({4}), omitted(), omitted(), ints({1}, {-1})}));
    EXPECT_FALSE(run(Op::Resize, {counting({4}), omitted(), floats({1}, {1e30})}));
    EXPECT_FALSE(run(Op::Resize, {counting({4}), omitted(), floats({2}, {1, 1})}));
    EXPECT_FALSE(run(Op::Resize, {counting({0}), omitted(), omitted(), ints({1}, {3})}));
    EXPECT_FALSE(run(Op::Resize, {counting({4}), omitted(), floats({1}, {2})},
                     {{"coordinate_transformation_mode", std::string("nowhere")}}));
}

TEST(ResizeInference, SizesMayBeSymbols) {
    Inference out(Op::Resize, {known({batch, 3, 8, 8}), std::nullopt, std::nullopt,
                               contents({batch, 3, batch, 16})});
    EXPECT_EQ(out.type(), "float[N,3,N,16]");
}

TEST(GridSample, VolumesAreInterpolatedInThreeDimensions) {
    auto out = run(Op::GridSample, {counting({1, 1, 2, 2, 2}), floats({1, 1, 1, 1, 3}, {0, 0, 0})},
                   {{"align_corners", int64_t(1)}});
    ASSERT_TRUE(out) << out.error().text();
    expectNear((*out)[0].floats, {3.5});
}

TEST(GridSample, CoordinatesThatAreNoNumbersReadNothing) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    auto out =
        run(Op::GridSample, {counting({1, 1, 2, 2}), floats({1, 1, 2, 2}, {nan, 0, 1e300, 0})},
            {{"padding_mode", std::string("border")}});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats[0], 0);
    EXPECT_EQ((*out)[0].floats[1], 2);
}

TEST(AffineGrid, IdentityGivesTheCentresOfPixels) {
    auto out =
        run(Op::AffineGrid, {floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}), ints({4}, {1, 1, 1, 2})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{1, 1, 2, 2}));
    expectNear((*out)[0].floats, {-0.5, 0, 0.5, 0});
}

TEST(NonMaxSuppression, WithoutALimitNothingIsSelected) {
    auto out =
        run(Op::NonMaxSuppression, {floats({1, 1, 4}, {0, 0, 1, 1}), floats({1, 1, 1}, {0.9})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{0, 3}));
}

TEST(NonMaxSuppression, ManyBoxesSelectWhatComparingAllOfThemDoes) {
    uint32_t seed = 1;
    auto random = [&](double scale) {
        seed = seed * 1664525U + 1013904223U;
        return scale * (seed >> 8) / double{1U << 24};
    };
    constexpr int64_t count = 600;
    std::vector<double> boxes, scores;
    for (int64_t i = 0; i < count; ++i) { // clusters far apart, some tall boxes, any corner first
        const double at = 100.0 * static_cast<double>(i % 7), y = at + random(8),
                     x = at + random(8);
        const double height = i % 50 == 0 ? random(400) : random(6);
        const double bottom = y - (i % 3 == 0 ? height : -height);
        boxes.insert(boxes.end(), {y, x, bottom, x + random(6)});
        scores.push_back(std::floor(random(40))); // many are equal
    }
    auto out =
        run(Op::NonMaxSuppression, {floats({1, count, 4}, boxes), floats({1, 1, count}, scores),
                                    ints({1}, {1000}), floats({1}, {0.3})});
    ASSERT_TRUE(out) << out.error().text();

    std::vector<int64_t> order(count), kept;
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
    });
    auto edge = [&](int64_t box, size_t axis, bool high) {
        const double a = boxes[static_cast<size_t>(box) * 4 + axis];
        const double b = boxes[static_cast<size_t>(box) * 4 + axis + 2];
        return high ? std::max(a, b) : std::min(a, b);
    };
    auto common = [&](int64_t a, int64_t b) {
        double area = 1;
        for (size_t axis : {0, 1})
            area *= std::max(0.0, std::min(edge(a, axis, true), edge(b, axis, true)) -
                                      std::max(edge(a, axis, false), edge(b, axis, false)));
        return area;
    };
    for (int64_t i : order)
        if (std::none_of(kept.begin(), kept.end(), [&](int64_t k) {
                const double both = common(i, k);
                return both > 0 && both / (common(i, i) + common(k, k) - both) > 0.3;
            }))
            kept.push_back(i);
    ASSERT_EQ((*out)[0].extents, (Extents{static_cast<int64_t>(kept.size()), 3}));
    EXPECT_GT(kept.size(), 50U);
    EXPECT_LT(kept.size(), static_cast<size_t>(count));
    for (size_t i = 0; i < kept.size(); ++i)
        EXPECT_EQ((*out)[0].ints[i * 3 + 2], kept[i]);
}

TEST(NonMaxSuppression, BoxesAndScoresMustAgree) {
    EXPECT_FALSE(run(Op::NonMaxSuppression, {counting({1, 2, 4}), counting({1, 1, 3})}));
    EXPECT_FALSE(run(Op::NonMaxSuppression, {counting({1, 2, 3}), counting({1, 1, 2})}));
}

TEST(RoiAlign, BatchIndicesAndHugeRoisAreRefused) {
    const auto roi = [](double size, int64_t batch) {
        return run(Op::RoiAlign, {counting({1, 1, 4, 4}), floats({1, 4}, {0, 0, size, size}),
                                  ints({1}, {batch})});
    };
    EXPECT_TRUE(roi(4, 0));
    EXPECT_FALSE(roi(4, 1));
    EXPECT_FALSE(roi(4, -1));
    EXPECT_FALSE(roi(1e30, 0));
}
