// SPDX-License-Identifier: Apache-2.0
// Views: which reshapes, transposes and slices of strided memory need no copy.
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/views.h"
#include "plan_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

using namespace fuselage;

namespace {

/// Offsets of all elements in row-major order of the extents.
std::vector<int64_t> offsets(const Extents& extents, const Extents& strides) {
    std::vector<int64_t> out{0};
    for (size_t d = 0; d < extents.size(); ++d) {
        std::vector<int64_t> next;
        for (int64_t base : out)
            for (int64_t i = 0; i < extents[d]; ++i)
                next.push_back(base + i * strides[d]);
        out = std::move(next);
    }
    return out;
}

} // namespace

TEST(ReshapeStrides, SplitsAndMergesDenseDims) {
    EXPECT_EQ(reshapeStrides({2, 12}, {12, 1}, {2, 3, 4}), (Extents{12, 4, 1}));
    EXPECT_EQ(reshapeStrides({2, 3, 4}, {12, 4, 1}, {24}), (Extents{1}));
}

TEST(ReshapeStrides, SplitsADimOfAStridedSlice) {
    // Q of a packed projection: [197, 1, 768] inside rows of 2304, seen as 12 heads of 64.
    EXPECT_EQ(reshapeStrides({197, 1, 768}, {2304, 2304, 1}, {197, 12, 64}),
              (Extents{2304, 64, 1}));
}

TEST(ReshapeStrides, MergesChannelsLastSpatialDims) {
    Extents strides{150528, 1, 10752, 768};
    auto merged = reshapeStrides({1, 768, 14, 14}, strides, {1, 768, 196});
    ASSERT_TRUE(merged);
    EXPECT_EQ(offsets({1, 768, 196}, *merged), offsets({1, 768, 14, 14}, strides));
}

TEST(ReshapeStrides, RefusesWhatNeedsACopy) {
    EXPECT_FALSE(reshapeStrides({3, 4}, {1, 3}, {12})); // transposed
    EXPECT_FALSE(reshapeStrides({3, 4}, {8, 1}, {12})); // gaps between rows
    EXPECT_FALSE(reshapeStrides({3, 4}, {1, 3}, {2, 6}));
}

TEST(ReshapeStrides, AgreesWithEnumerationOnRandomLayouts) {
    std::mt19937 random(7);
    const std::vector<Extents> shapes{{24},    {2, 12},   {4, 6},   {2, 3, 4},
                                      {1, 24}, {6, 2, 2}, {4, 1, 6}};
    for (int round = 0; round < 300; ++round) {
        const Extents& from = shapes[random() % shapes.size()];
        const Extents& to = shapes[random() % shapes.size()];
        std::vector<size_t> order(from.size());
        for (size_t i = 0; i < order.size(); ++i)
            order[i] = i;
        std::shuffle(order.begin(), order.end(), random);
        Extents strides(from.size());
        int64_t stride = 1;
        for (size_t d : order) {
            strides[d] = stride;
            stride *= from[d] + (random() % 4 == 0 ? 1 : 0);
        }
        auto result = reshapeStrides(from, strides, to);
        if (result) {
            EXPECT_EQ(offsets(to, *result), offsets(from, strides));
        }
    }
}

namespace {

std::optional<ViewOf> lastView(const std::string& text, const ViewOf& operand) {
    auto graph = model_io::loadText("g " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    if (!graph)
        return std::nullopt;
    EXPECT_TRUE(inferShapes(*graph).empty());
    Progress progress;
    EXPECT_TRUE(foldConstants(*graph, {}, progress));
    return viewOf(*graph, graph->node(graph->nodes().back()), 0, operand, ViewKinds::Strided);
}

} // namespace

/// A part of a tensor in other extents, which a graph gives: whoever copies it has a kernel.
TEST(Views, PartsThatAreRegroupedAreCopiedByKernels) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        const int64_t a = 1 + random() % 4, b = 2 + random() % 6, c = 2 + random() % 6;
        const bool isInner = random() % 2 == 0;
        const int64_t rows = isInner ? b : b - 1, cols = isInner ? c - 1 : c;
        const std::string reader = std::array{"", "Relu", "Softmax"}[random() % 3];
        const std::string out = fmt::format("{},{},{}", a, cols, rows);
        const std::string text = fmt::format(
            "(float[{},{},{}] x) => (float[{}] y) <int64[1] s = {{1}}, int64[1] e = {{100}}, "
            "int64[1] d = {{{}}}, int64[3] n = {{{}}}> {{ t = Slice(x, s, e, d) {} }}",
            a, b, c, out, isInner ? 2 : 1, out,
            reader.empty() ? "y = Reshape(t, n)" : "r = Reshape(t, n) y = " + reader + "(r)");
        const auto plan = test::planFor(test::preparedGraph(text), "cpu", {});
        for (const Step& step : plan->steps)
            EXPECT_FALSE(std::holds_alternative<Library>(step.program.code)) << text;
    }
}

TEST(ViewOf, GatherOfOneKnownIndex) {
    const ViewOf operand{5, {3, 4, 8}, {32, 8, 1}};
    auto view = lastView("(float[3,4,8] x) => (float[3,8] y) "
                         "{ i = Constant<value_int=-1>()  y = Gather<axis=1>(x, i) }",
                         operand);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->offset, 5 + 3 * 8);
    EXPECT_EQ(view->strides, (Extents{32, 1}));
    auto kept = lastView("(float[3,4,8] x) => (float[1,4,8] y) "
                         "{ i = Constant<value_ints=[2]>()  y = Gather<axis=0>(x, i) }",
                         operand);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->offset, 5 + 2 * 32);
    EXPECT_EQ(kept->strides, (Extents{1, 8, 1}));
}

TEST(ViewOf, GatherOfManyOrUnknownIndicesIsNone) {
    const ViewOf operand{0, {3, 8}, {8, 1}};
    EXPECT_FALSE(
        lastView("(float[3,8] x, int64[1] i) => (float[1,8] y) { y = Gather(x, i) }", operand));
    EXPECT_FALSE(lastView("(float[3,8] x) => (float[2,8] y) "
                          "{ i = Constant<value_ints=[0,2]>()  y = Gather(x, i) }",
                          operand));
}

TEST(ViewOf, TransposeCountsFromTheEndWhereNegative) {
    const ViewOf operand{0, {3, 4, 8}, {32, 8, 1}};
    auto view = lastView(
        "(float[3,4,8] x) => (float[3,8,4] y) { y = Transpose<perm=[-3,2,-2]>(x) }", operand);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->extents, (Extents{3, 8, 4}));
    EXPECT_EQ(view->strides, (Extents{32, 1, 8}));
}
