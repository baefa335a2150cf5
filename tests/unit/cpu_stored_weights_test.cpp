// SPDX-License-Identifier: Apache-2.0
// Products with weights that DequantizeLinear makes of constants of 4 bits: multiplied as they are
// stored where they lie so, as floats elsewhere, and the same numbers either way.
#include "app/pipeline/compiled.h"
#include "core/plan/backend.h"
#include "core/support/parallel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace fuselage;

namespace {

struct Draw {
    std::mt19937 engine;

    int64_t from(int64_t least, int64_t most) {
        return std::uniform_int_distribution<int64_t>(least, most)(engine);
    }

    Tensor floats(const Extents& extents) {
        Tensor out(DType::Float32, extents);
        for (float& number : out.as<float>())
            number = static_cast<float>(from(-1000, 1000)) / 512.0F;
        return out;
    }

    TensorPtr codes(DType type, const Extents& extents) {
        auto out = std::make_shared<Tensor>(type, extents);
        const int64_t least = type == DType::Int4 ? -8 : 0;
        for (int64_t i = 0; i < out->elementCount(); ++i)
            out->setInt(i, from(least, least + 15));
        return out;
    }
};

/// x [m, k] times weights of 4 bits; `rows`: stored [n, k], as Gemm with transB reads them, or
/// MatMul behind a Transpose (`turned`).
struct Product {
    DType type = DType::Int4;
    int64_t m = 1, k = 1, n = 1, block = 0;
    bool rows = false, zero = false, bias = false, relu = false;
    int64_t axis = 0;      ///< of the scales
    bool alsoRead = false; ///< somebody else reads the floats
    bool turned = false;
    bool alsoCut = false; ///< of turned ones somebody else reads a part

    static Product drawn(Draw& draw) {
        Product out;
        out.type = draw.from(0, 1) ? DType::Int4 : DType::UInt4;
        out.m = draw.from(0, 2) ? draw.from(1, 30) : 1;
        out.k = draw.from(1, 200);
        out.n = draw.from(1, 90);
        out.block = draw.from(0, 3) ? int64_t{8} << draw.from(0, 4) : 0;
        out.rows = draw.from(0, 1);
        out.zero = draw.from(0, 1);
        out.bias = draw.from(0, 1);
        out.relu = draw.from(0, 1);
        out.axis = (out.block > 0) == out.rows ? 1 : 0;
        out.turned = out.rows && draw.from(0, 1);
        return out;
    }

    Graph graph(Draw& draw) const {
        Graph out;
        const auto constant = [&](const char* name, Tensor tensor) {
            return out.addConstant(name, std::make_shared<const Tensor>(std::move(tensor)));
        };
        const auto made = [&](NodeSpec spec) {
            return out.node(out.addNode(std::move(spec))).outputs[0];
        };
        const ValueId x = out.addInput("x", tensorType(DType::Float32, Shape{m, k}));
        const Extents extents = rows ? Extents{n, k} : Extents{k, n};
        Extents scales = {extents[static_cast<size_t>(axis)]};
        if (block > 0) {
            scales = extents;
            int64_t& along = scales[static_cast<size_t>(axis)];
            along = (along + block - 1) / block;
        }
        std::vector<ValueId> inputs{out.addConstant("codes", draw.codes(type, extents)),
                                    constant("s", draw.floats(scales))};
        if (zero)
            inputs.push_back(out.addConstant("z", draw.codes(type, scales)));
        NodeSpec load{Op::DequantizeLinear, "load", inputs, {"w"}, {}, {}};
        load.attributes.set("axis", axis);
        load.attributes.set("block_size", block);
        ValueId w = made(std::move(load));
        if (turned) {
            NodeSpec turn{Op::Transpose, "turn", {w}, {"t"}, {}, {}};
            turn.attributes.set("perm", std::vector<int64_t>{1, 0});
            w = made(std::move(turn));
        }
        const bool byRows = rows && !turned;
        NodeSpec product{byRows ? Op::Gemm : Op::MatMul, "product", {x, w}, {"p"}, {}, {}};
        if (byRows)
            product.attributes.set("transB", int64_t{1});
        ValueId y = made(std::move(product));
        if (bias)
            y = made({Op::Add, "sum", {y, constant("b", draw.floats({n}))}, {"a"}, {}, {}});
        if (relu)
            y = made({Op::Relu, "relu", {y}, {"r"}, {}, {}});
        out.addOutput(y);
        if (alsoRead)
            out.addOutput(made({Op::Exp, "exp", {w}, {"e"}, {}, {}}));
        if (alsoCut) {
            NodeSpec cut{Op::Slice,
                         "cut",
                         {w, constant("from", Tensor::ofInts({0})),
                          constant("to", Tensor::ofInts({k / 2})),
                          constant("dims", Tensor::ofInts({0}))},
                         {"half"},
                         {},
                         {}};
            out.addOutput(made({Op::Exp, "exp", {made(std::move(cut))}, {"e"}, {}, {}}));
        }
        return out;
    }
};

/// Runs it on both numbers of threads; the tactics of its steps, in order, in one line.
std::string expectAsInterpreted(const Product& product, uint32_t seed) {
    Draw draw{std::mt19937(seed)};
    const Graph graph = product.graph(draw);
    const Tensor x = draw.floats({product.m, product.k});
    ThreadPool pool(1);
    Progress progress;
    auto wanted = interpret(graph, {ReferenceValue::from(x)}, pool, progress);
    EXPECT_TRUE(wanted) << (wanted ? "" : wanted.error().text());
    std::string tactics;
    for (int threads : {2, 1}) {
        CompileOptions options;
        options.threads = threads;
        auto compiled = CompiledGraph::compile(graph.clone(), options);
        EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text());
        tactics.clear();
        for (size_t i = 0; i < compiled->plan().steps.size(); ++i) {
            const Step& step = compiled->plan().steps[i];
            const std::string tactic = compiled->executable().tactic(i);
            tactics += tactic + "; ";
            if (tactic.find("weights of 4 bits") != std::string::npos) {
                EXPECT_LT(step.traffic.logicalRead, logicalTraffic(step.program).logicalRead)
                    << "codes are read, no floats";
            }
        }
        auto found = compiled->run({x});
        EXPECT_TRUE(found) << (found ? "" : found.error().text());
        for (size_t output = 0; output < wanted->size(); ++output) {
            const ReferenceValue& exact = (*wanted)[output];
            double largest = 0;
            for (double value : exact.floats)
                largest = std::max(largest, std::abs(value));
            for (size_t i = 0; i < exact.floats.size(); ++i)
                if (std::abs(exact.floats[i] - (*found)[output].at(static_cast<int64_t>(i))) >
                    2e-6 * largest + 1e-30) {
                    ADD_FAILURE() << "seed " << seed << ", output " << output << ", element " << i
                                  << " of " << exact.floats.size() << ": "
                                  << (*found)[output].at(static_cast<int64_t>(i)) << " for "
                                  << exact.floats[i] << " by " << tactics;
                    return tactics;
                }
        }
    }
    return tactics;
}

bool has(const std::string& text, const char* piece) {
    return text.find(piece) != std::string::npos;
}

} // namespace

TEST(CpuStoredWeights, ProductsOfAnyShape) {
    for (uint32_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
        Draw draw{std::mt19937(1000 + seed)};
        const std::string tactics = expectAsInterpreted(Product::drawn(draw), seed);
        EXPECT_TRUE(has(tactics, "in the products that read it")) << seed << ": " << tactics;
        EXPECT_TRUE(has(tactics, "weights of 4 bits")) << seed << ": " << tactics;
    }
}

TEST(CpuStoredWeights, FloatsWhereSomebodyElseReadsThem) {
    Product product{DType::Int4, 3, 64, 20, 32};
    product.alsoRead = true;
    const std::string tactics = expectAsInterpreted(product, 1);
    EXPECT_FALSE(has(tactics, "weights of 4 bits")) << tactics;
    EXPECT_TRUE(has(tactics, "once while preparing")) << tactics;
}

TEST(CpuStoredWeights, FloatsWhereSomebodyElseReadsAPartOfThem) {
    Product product{DType::UInt4, 3, 64, 20, 32, true};
    product.axis = 1;
    product.turned = true;
    EXPECT_TRUE(has(expectAsInterpreted(product, 1), "weights of 4 bits"));
    product.alsoCut = true;
    const std::string tactics = expectAsInterpreted(product, 1);
    EXPECT_FALSE(has(tactics, "weights of 4 bits")) << tactics;
}

TEST(CpuStoredWeights, FloatsWhereScalesChangeOtherwise) {
    // Blocks of neighbours in a row of B: none of them is along what is summed.
    Product product{DType::Int4, 3, 64, 32, 16};
    product.axis = 1;
    const std::string tactics = expectAsInterpreted(product, 2);
    EXPECT_FALSE(has(tactics, "weights of 4 bits")) << tactics;
    // A scale for each index of what is summed.
    product.block = 0;
    product.axis = 0;
    EXPECT_FALSE(has(expectAsInterpreted(product, 3), "weights of 4 bits"));
}

TEST(CpuStoredWeights, AStrictPlanMultipliesFloats) {
    Draw draw{std::mt19937(4)};
    const Product product{DType::UInt4, 2, 64, 16, 32};
    CompileOptions options;
    options.strict = true;
    auto compiled = CompiledGraph::compile(product.graph(draw), options);
    ASSERT_TRUE(compiled) << compiled.error().text();
    for (size_t i = 0; i < compiled->plan().steps.size(); ++i)
        EXPECT_FALSE(has(compiled->executable().tactic(i), "4 bits"));
}
