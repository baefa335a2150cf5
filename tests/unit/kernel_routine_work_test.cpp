// SPDX-License-Identifier: Apache-2.0
// What routines of single operators are said to compute follows what they do, not what they write.
#include "core/kernel/routine_work.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

RoutineWork workOfModel(const std::string& text) {
    auto graph = model_io::loadText("<ir_version: 8, opset_import: [\"\" : 20]> " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    inferShapes(*graph);
    return routineWork(*graph, graph->node(graph->nodes().back()));
}

double gridIn(const std::string& mode) {
    return workOfModel(
               "g (float[1,8,20,20] x, float[1,20,20,2] p) => (y) { y = GridSample<mode=\"" + mode +
               "\">(x, p) }")
        .elements;
}

} // namespace

TEST(RoutineWork, FollowsWhatIsRead) {
    const auto best = [](const std::string& extent, const std::string& k) {
        return workOfModel("g (float[4," + extent + "] x) => (v, i) <int64[1] k = {" + k +
                           "}> { v, i = TopK(x, k) }")
            .elements;
    };
    EXPECT_EQ(best("1000", "1"), best("1000", "50"));
    EXPECT_EQ(best("2000", "1"), 2 * best("1000", "1"));
    EXPECT_LT(gridIn("nearest"), gridIn("linear"));
    EXPECT_LT(gridIn("linear"), gridIn("cubic"));
}

TEST(RoutineWork, LayersWithStatesMultiplyMatrices) {
    const RoutineWork work =
        workOfModel("g (float[5,2,3] x, float[1,16,3] w, float[1,16,4] r) => (y) { y = "
                    "LSTM<hidden_size=4>(x, w, r) }");
    EXPECT_EQ(work.products, 5 * 2 * 16 * (3 + 4));
}

TEST(RoutineWork, WeightsOfFewBitsAreMultiplied) {
    const RoutineWork work =
        workOfModel("agraph (float[5,32] x, uint8[7,2,8] w, float[14] s) => (float[5,7] y) { y = "
                    "com.microsoft.MatMulNBits<K = 32, N = 7, block_size = 16>(x, w, s) }");
    EXPECT_DOUBLE_EQ(work.products, 5 * 7 * 32);
}

TEST(RoutineWork, WhatNobodyKnowsCountsAsNothing) {
    EXPECT_EQ(workOfModel("g (float[n,m] x, float[k] s) => (y) { y = Resize(x, , s) }").elements,
              0);
}
