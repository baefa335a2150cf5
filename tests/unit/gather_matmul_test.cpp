// SPDX-License-Identifier: Apache-2.0
// GatherMatMul: what it is written out as, for few indices and for many, the loops of the CPU with
// every table of this machine and a saved file, all against the reference function.
#include "core/ops/gather_matmul.h"
#include "own_operator_support.h"

#include <numeric>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

struct DrawnGather {
    Case operands;
    std::string body;
    bool distinct = true; ///< in each row of indices
    double tolerance = 1e-6;
    double written = 1e-9; ///< of what it is written out as, where Cast rounds scales to X's type
};

Tensor indices(Draw& draw, int64_t tokens, int64_t chosen, int64_t matrices, bool distinct,
               DType type) {
    Tensor out(type, {tokens, chosen});
    std::vector<int64_t> all(static_cast<size_t>(matrices));
    std::iota(all.begin(), all.end(), 0);
    for (int64_t t = 0; t < tokens; ++t)
        for (int64_t j = 0; j < chosen; ++j) {
            std::swap(all[static_cast<size_t>(j)],
                      all[static_cast<size_t>(draw.from(j, matrices - 1))]);
            const int64_t matrix =
                distinct ? all[static_cast<size_t>(j)] : draw.from(0, matrices - 1);
            if (type == DType::Int32)
                out.as<int32_t>()[static_cast<size_t>(t * chosen + j)] =
                    static_cast<int32_t>(matrix);
            else
                out.as<int64_t>()[static_cast<size_t>(t * chosen + j)] = matrix;
        }
    return out;
}

/// Any operands that the operator allows.
DrawnGather drawnGather(uint32_t seed) {
    Draw draw(seed);
    const int64_t matrices = draw.from(1, 9), chosen = draw.from(1, matrices);
    const int64_t tokens = draw.from(1, 40), n = draw.from(1, 90), k = draw.from(1, 150);
    const int64_t widths[] = {0, 2, 4, 4, 8};
    const int64_t bits = widths[draw.from(0, 4)];
    const int64_t block = bits == 0 || draw.coin() ? 0 : draw.from(1, 12) * 4;
    const DType type = draw.from(0, 3) == 0 ? DType::Float16 : DType::Float32;
    const bool ownRows = draw.coin(), isConstant = draw.from(0, 2) > 0;
    DrawnGather out;
    out.distinct = draw.from(0, 3) > 0;
    out.tolerance = type == DType::Float16 ? 1e-3 : 1e-6;
    const auto numbers = [&](const Extents& extents) {
        return stored(weights(extents, static_cast<uint32_t>(draw.from(1, 1 << 20))), type);
    };
    Case& x = out.operands;
    x.add("x", numbers(ownRows ? Extents{tokens, chosen, k} : Extents{tokens, k}), false);
    x.add("w",
          bits == 0 ? numbers({matrices, n, k})
                    : draw.bytes(DType::UInt8, {matrices, n, (k * bits + 7) / 8}),
          isConstant);
    x.add("i",
          indices(draw, tokens, chosen, matrices, out.distinct,
                  draw.coin() ? DType::Int32 : DType::Int64),
          false);
    if (bits != 0) {
        Extents scales{matrices, n};
        if (block != 0)
            scales.push_back((k + block - 1) / block);
        const DType scaleType = draw.coin() ? DType::Float32 : type;
        out.written = scaleType == type ? out.written : out.tolerance;
        const auto drawn = [&] {
            return stored(weights(scales, static_cast<uint32_t>(draw.from(1, 1 << 20))), scaleType);
        };
        x.add("s", drawn(), isConstant);
        if (draw.coin())
            x.add("o", drawn(), isConstant);
    }
    out.body = x.body("fuselage.GatherMatMul",
                      "<bits=" + std::to_string(bits) + ",block_size=" + std::to_string(block) +
                          ",distinct=" + (out.distinct ? "1" : "0") + ">",
                      type, {tokens, chosen, n});
    return out;
}

Judged judged(const DrawnGather& drawn) {
    return {drawn.body, drawn.operands};
}

constexpr uint32_t seeds = 120;

} // namespace

TEST(GatherMatMul, LoopsAreTheReference) {
    for (uint32_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
        const DrawnGather drawn = drawnGather(seed);
        SCOPED_TRACE(drawn.body);
        expectLoops(judged(drawn), "rows by matrix", drawn.tolerance);
    }
}

TEST(GatherMatMul, SumsOfNothingAreZero) {
    for (const auto& [bits, w] : {std::pair(0, "float[3,20,0]"), {4, "uint8[3,20,0]"}}) {
        const std::string scales = bits == 0 ? "" : ", float[3,20] s";
        const std::string text =
            std::string("(float[2,0] x, ") + w + " w, int64[2,1] i" + scales +
            ") => (float[2,1,20] y) { y = fuselage.GatherMatMul<bits=" + std::to_string(bits) +
            ">(x, w, i" + (bits == 0 ? "" : ", s") + ") }";
        SCOPED_TRACE(text);
        const DType stored = bits == 0 ? DType::Float32 : DType::UInt8;
        std::map<std::string, Tensor> constants{{"w", Tensor(stored, {3, 20, 0})}};
        if (bits != 0)
            constants.emplace("s", weights({3, 20}));
        const LowerRequest request = bodyFrom(text, constants);
        std::vector<ReferenceValue> inputs{ReferenceValue::tensor(DType::Float32, {2, 0}),
                                           ReferenceValue::from(constants.at("w")),
                                           ReferenceValue::tensor(DType::Int64, {2, 1})};
        if (bits != 0)
            inputs.push_back(ReferenceValue::from(constants.at("s")));
        CpuRun run = runOnCpu(programOf(request), inputs, request.constants,
                              testing_cpu::Order::RowMajor, 1, prepareKernel, vectorTable(0));
        ASSERT_FALSE(run.outputs.empty());
        EXPECT_EQ(run.outputs[0].floats, std::vector<double>(40, 0));
    }
}

TEST(GatherMatMul, OperandsOfOtherTypesAndShapesAreContradictions) {
    for (const char* text :
         {"g (float[2,8] x, float[3,4,8] w, uint8[2,1] i) => (y) { y = fuselage.GatherMatMul(x, w, "
          "i) }",
          "g (float[2,8] x, float16[3,4,8] w, int64[2,1] i) => (y) { y = fuselage.GatherMatMul(x, "
          "w, i) }",
          "g (float[2,8] x, uint8[3,4,4] w, int64[2,1] i) => (y) { y = "
          "fuselage.GatherMatMul<bits=4>(x, w, i) }",
          "g (float[2,8] x, uint8[3,4,4] w, int64[2,1] i, float[3,4] s, float o) => (y) "
          "{ y = fuselage.GatherMatMul<bits=4>(x, w, i, s, o) }",
          "g (float[2,K] x, uint8[3,4,4] w, int64[2,1] i, float[3,4] o) => (y) "
          "{ y = fuselage.GatherMatMul<bits=4>(x, w, i, , o) }",
          "g (float[2,8] x, float[3,4,8] w, int64[2,1] i, float s) => (y) "
          "{ y = fuselage.GatherMatMul(x, w, i, s) }"}) {
        auto graph = model_io::loadText(text);
        ASSERT_TRUE(graph) << graph.error().text();
        const auto problems = inferShapes(*graph);
        EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [](const InferProblem& each) {
            return !each.warning();
        })) << text;
        const Node& node = onlyNode(*graph);
        for (const bool few : {false, true})
            EXPECT_TRUE(writtenOut(*graph, node, few)) << "what is wrong may be written";
    }
}

TEST(GatherMatMul, WrittenOutIsTheReference) {
    for (uint32_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
        const DrawnGather drawn = drawnGather(seed);
        SCOPED_TRACE(drawn.body);
        expectWrittenOut(judged(drawn), drawn.written);
    }
}

TEST(GatherMatMul, AFileHoldsItAsAFunctionAndGivesItBack) {
    for (uint32_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
        const DrawnGather drawn = drawnGather(seed);
        SCOPED_TRACE(drawn.body);
        const Judged judge = judged(drawn);
        expectKeptByFile(judge, drawn.written);
    }
}

TEST(GatherMatMul, AnIndexOfNoMatrixIsAnError) {
    const LowerRequest request =
        bodyFrom("(float[1,2] x, float[3,2,2] w, int64[1,1] i) => (float[1,1,2] y) "
                 "{ y = fuselage.GatherMatMul(x, w, i) }",
                 {{"w", weights({3, 2, 2})}});
    for (const int64_t index : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN}) {
        std::vector<ReferenceValue> inputs{ReferenceValue::from(weights({1, 2})),
                                           ReferenceValue::from(weights({3, 2, 2})),
                                           ReferenceValue::ofInts({index})};
        inputs[2].extents = {1, 1};
        ThreadPool threads(1);
        Progress progress;
        EXPECT_FALSE(interpret(*request.body, inputs, threads, progress));
    }
}
