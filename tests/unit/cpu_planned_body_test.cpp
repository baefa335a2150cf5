// SPDX-License-Identifier: Apache-2.0
// Bodies of loops whose shapes follow the number of the iteration, or integers that go around: by
// plans of their own from the second run on, with the results of the reference. Memory that such
// plans share.
#include "app/pipeline/compiled.h"
#include "core/cpu/pages.h"
#include "core/onnx/model_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace fuselage;

namespace {

/// A loop that cuts a table at places made of its counter and of an integer that goes around.
class CuttingLoop {
public:
    explicit CuttingLoop(uint32_t seed) : m_random(seed) {
        m_step = below(3);
        m_iterations = 1 + below(6);
        // Beyond every place; a large one is not left to the reference functions.
        const int64_t longest = below(2) == 0 ? 48 : 30000;
        m_table = Tensor(DType::Float32, {longest, 3});
        for (float& value : m_table.as<float>())
            value = static_cast<float>(below(9)) - 4;
        const char* first = pick({"zero", "i1", "p1", "ip"});
        const std::string cut =
            fmt::format("      till = Add({}, {})\n      part = Slice(table, {}, till, zero)\n",
                        first, pick({"one", "width", "next1"}), first);
        const std::string sum = pick(
            {"ReduceSum<keepdims = 0>(part, zero)", "ReduceMax<keepdims = 0, axes = [0]>(part)"});
        const std::string extra = pick({"", "      n = Add(ip, one)\n      r = Expand(half, n)\n"
                                            "      q = ReduceSum<keepdims = 1>(r, zero)\n"});
        m_text = fmt::format(
            "<ir_version: 8, opset_import: [\"\" : 13]>\n"
            "g (float[3] x, int64 p, float[{},3] table) => (float[3] y, int64 last) {{\n"
            "   n = Constant<value = int64 {{{}}}>()\n   go = Constant<value = bool {{1}}>()\n"
            "   step = Constant<value = int64 {{{}}}>()\n"
            "   zero = Constant<value = int64[1] {{0}}>()\n"
            "   one = Constant<value = int64[1] {{1}}>()\n"
            "   width = Constant<value = int64[1] {{4}}>()\n"
            "   half = Constant<value = float[1] {{0.5}}>()\n"
            "   y, last = Loop (n, go, x, p) <\n"
            "   body = b (int64 i, bool c, float[3] v, int64 at) => (bool next, float[3] w,"
            " int64 then) {{\n      next = Identity(c)\n      then = Add(at, step)\n"
            "      i1 = Unsqueeze(i, zero)\n      p1 = Unsqueeze(at, zero)\n"
            "      ip = Add(i1, p1)\n      next1 = Add(ip, one)\n{}{}"
            "      s = {}\n      t = Mul({}, s)\n      w = Add(v, t)\n   }}>\n}}",
            longest, m_iterations, m_step, cut, extra, sum, extra.empty() ? "half" : "q");
    }

    const std::string& text() const { return m_text; }

    /// For a place where the table is cut first.
    std::vector<Tensor> inputs(int64_t place) const {
        Tensor p(DType::Int64, {});
        p.setInt(0, place);
        return {Tensor::ofFloats({3}, {1, 2, 3}), p, m_table};
    }

    int64_t iterations() const { return m_iterations; }

private:
    int64_t below(uint32_t n) { return static_cast<int64_t>(m_random() % n); }

    const char* pick(std::vector<const char*> from) {
        return from[m_random() % static_cast<uint32_t>(from.size())];
    }

    std::mt19937 m_random;
    int64_t m_step = 0, m_iterations = 0;
    Tensor m_table;
    std::string m_text;
};

CompiledGraph compiledBy(BackendKind backend, const std::string& text,
                         CompileOptions options = {}) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << graph.error().text();
    options.backend = backend;
    auto compiled = CompiledGraph::compile(std::move(*graph), options);
    EXPECT_TRUE(compiled) << compiled.error().text();
    return std::move(*compiled);
}

} // namespace

TEST(PlannedBody, CutsAtCountersAreTheReference) {
    int planned = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
        const CuttingLoop loop(seed);
        SCOPED_TRACE(loop.text());
        CompiledGraph expected = compiledBy(BackendKind::Reference, loop.text());
        CompiledGraph compiled = compiledBy(BackendKind::Cpu, loop.text());
        for (const int64_t place : {0, 1, 0, 1, 5, 0}) {
            const auto right = expected.run(loop.inputs(place));
            const auto made = compiled.run(loop.inputs(place));
            ASSERT_TRUE(right) << right.error().text();
            ASSERT_TRUE(made) << made.error().text();
            for (size_t i = 0; i < right->size(); ++i)
                ASSERT_TRUE(identical((*right)[i], (*made)[i])) << "output " << i;
        }
        const std::string all = fmt::format("{0} of {0} iterations", loop.iterations());
        planned += compiled.executable().tactic(0).rfind(all, 0) == 0 ? 1 : 0;
    }
    EXPECT_EQ(planned, 60);
}

namespace {

/// A loop that carries rows of a large table, more of them in each iteration, or a mask of some.
std::string growingLoop(uint32_t seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::vector<const char*> from) {
        return from[random() % static_cast<uint32_t>(from.size())];
    };
    const std::string rows = pick({"      row = Gather(table, i1)\n",
                                   "      twice = Concat<axis = 0>(i1, i1)\n"
                                   "      row = Gather(table, twice)\n",
                                   "      more = Add(i1, one)\n"
                                   "      row = Slice(table, zero, more, zero)\n"});
    const std::string kept = pick(
        {"      w0 = Concat<axis = 0>(v, row)\n", "      w0 = Concat<axis = 0>(row, v, row)\n"});
    const std::string last =
        pick({"      w = Add(w0, half)\n", "      w = Identity(w0)\n",
              "      big = Greater(w0, half)\n      f = Cast<to = 1>(big)\n      w = Mul(w0, f)\n",
              "      s = ReduceMax<keepdims = 1, axes = [0]>(w0)\n      w = Sub(w0, s)\n",
              "      t = Transpose<perm = [1, 0]>(w0)\n"
              "      m = MatMul(t, w0)\n      w1 = MatMul(w0, m)\n      one1 = Sign(w1)\n"
              "      w = Concat<axis = 0>(one1, row)\n"});
    return fmt::format(
        "<ir_version: 8, opset_import: [\"\" : 13]>\n"
        "g (float[M0,3] x, int64 n, float[30000,3] table) => (float[N,3] y) {{\n"
        "   go = Constant<value = bool {{1}}>()\n"
        "   zero = Constant<value = int64[1] {{0}}>()\n"
        "   one = Constant<value = int64[1] {{1}}>()\n"
        "   half = Constant<value = float[1] {{0.5}}>()\n   y = Loop (n, go, x) <\n"
        "   body = b (int64 i, bool c, float[K,3] v) => (bool next, float[L,3] w) {{\n"
        "      next = Identity(c)\n      i1 = Unsqueeze(i, zero)\n{}{}{}   }}>\n}}",
        rows, kept, last);
}

} // namespace

TEST(PlannedBody, GrowingShapesAreTheReference) {
    Tensor table(DType::Float32, {30000, 3});
    std::mt19937 random(5);
    for (float& value : table.as<float>())
        value = static_cast<float>(random() % 7) - 3;
    for (uint32_t seed = 0; seed < 40; ++seed) {
        const std::string text = growingLoop(seed);
        SCOPED_TRACE(text);
        CompileOptions options;
        options.dims["M0"] = 2;
        CompiledGraph expected = compiledBy(BackendKind::Reference, text, options);
        CompiledGraph compiled = compiledBy(BackendKind::Cpu, text, options);
        for (const int64_t trips : {3, 0, 4, 3, 4, 1}) {
            Tensor n(DType::Int64, {});
            n.setInt(0, trips);
            const std::vector<Tensor> inputs{Tensor::ofFloats({2, 3}, {1, -1, 0, 2, 1, 1}), n,
                                             table};
            const auto right = expected.run(inputs), made = compiled.run(inputs);
            ASSERT_TRUE(right) << right.error().text();
            ASSERT_TRUE(made) << made.error().text();
            ASSERT_TRUE(identical((*right)[0], (*made)[0])) << trips;
        }
    }
}

TEST(Pages, WhatIsFilledWithTheSameBytesIsHeldOnce) {
    const auto shared = std::make_shared<cpu::SharedPages>();
    const auto filledBy = [](cpu::Pages& pages, size_t bytes, int value) {
        return pages.filled(bytes, [&](std::byte* to) { std::memset(to, value, bytes); });
    };
    cpu::Pages first(shared), second(shared);
    auto third = std::make_unique<cpu::Pages>(shared);
    cpu::Pages alone;
    const std::byte* ones = filledBy(first, 5000, 1);
    EXPECT_EQ(filledBy(second, 5000, 1), ones);
    EXPECT_NE(filledBy(second, 5000, 2), ones);
    EXPECT_NE(filledBy(second, 4999, 1), ones);
    EXPECT_NE(filledBy(alone, 5000, 1), ones);
    const std::byte* threes = filledBy(*third, 5000, 3);
    EXPECT_EQ(filledBy(first, 5000, 3), threes);
    third.reset();
    EXPECT_EQ(threes[4999], std::byte{3}); // another holds it
    EXPECT_EQ(filledBy(second, 0, 1) == nullptr, false);
}

TEST(Pages, SmallPlansTakeLittle) {
    cpu::Pages pages;
    std::byte* first = pages.take(100);
    std::byte* second = pages.take(1);
    EXPECT_EQ(second - first, 128);
    std::byte* large = pages.take(size_t{5} << 20);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % (size_t{2} << 20), 0U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0U);
}
