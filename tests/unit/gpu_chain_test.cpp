// SPDX-License-Identifier: Apache-2.0
// Which two layers a plan for a GPU makes one launch, without a device: where a kernel takes them
// and the model says that it pays.
#include "app/pipeline/compiled.h"
#include "core/cost/product_time_internal.h"
#include "core/kernel/chain.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"
#include "tests/unit/compiled_agrees.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace fuselage;

namespace {

/// Two layers of so many rows, terms and hidden columns; `tail` follows the hidden value `h`.
std::string layers(int64_t rows, int64_t terms, int64_t hidden,
                   const std::string& outputs = "float16[{0},{1}] y",
                   const std::string& tail = "y = MatMul(h, w)") {
    return fmt::format("g (float16[{0},{1}] x, float16[{1},{2}] v, float16[{2},{1}] w) => ({3}) "
                       "{{ h = MatMul(x, v) {4} }}",
                       rows, terms, hidden, fmt::format(fmt::runtime(outputs), rows, terms, hidden),
                       tail);
}

/// Two layers behind a LayerNormalization; `reader` is what else there is.
std::string behindNorm(int64_t rows, int64_t terms, int64_t hidden,
                       const std::string& outputs = "float16[{0},{1}] y",
                       const std::string& reader = "y = MatMul(h, w)") {
    return fmt::format("g (float16[{0},{1}] z, float16[{1}] s, float16[{1}] t, float16[{1},{2}] v, "
                       "float16[{2},{1}] w) => ({3}) {{ x = LayerNormalization<axis=-1>(z, s, t) "
                       "h = MatMul(x, v) {4} }}",
                       rows, terms, hidden, fmt::format(fmt::runtime(outputs), rows, terms),
                       reader);
}

std::shared_ptr<const Plan> planned(const std::string& text, const std::string& device,
                                    BackendKind kind = BackendKind::Cuda,
                                    bool constantWeights = true,
                                    const std::vector<std::string>& without = {}) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    if (constantWeights)
        for (const char* weight : {"v", "w"})
            for (ValueId input : graph->inputs())
                if (graph->value(input).name == weight) {
                    EXPECT_TRUE(
                        bindInput(*graph, weight,
                                  Tensor(DType::Float16, *graph->value(input).type.extents())));
                    break;
                }
    Progress progress;
    EXPECT_TRUE(prepareGraph(*graph, progress));
    const DeviceProfile profile = *deviceProfile(device);
    const auto backend = makePlanningBackend(kind, profile, without);
    PlanOptions options;
    options.profile = &profile;
    options.backend = backend.get();
    options.groupSmall = options.recompute = true;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(*graph)), options, progress);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    return plan ? *plan : nullptr;
}

size_t chainsOf(const Plan& plan) {
    size_t out = 0;
    for (const Step& step : plan.steps)
        out += kindOf(step.program) == ProgramKind::Chain ? 1 : 0;
    return out;
}

TEST(PlanChain, WideHiddenRowsStayInAKernel) {
    const auto plan = planned(layers(100352, 96, 384), "h200");
    ASSERT_TRUE(plan);
    ASSERT_EQ(chainsOf(*plan), 1U);
    ASSERT_EQ(plan->groups.size(), 1U);
    EXPECT_TRUE(plan->groups[0].taken);
    EXPECT_EQ(plan->groups[0].reason.code, "cost");
    EXPECT_EQ(plan->groups[0].members.size(), 2U);
    for (const Step& step : plan->steps)
        if (const auto* chain = std::get_if<Chain>(&step.program.code)) {
            EXPECT_EQ(step.inputs.size(), step.program.inputs.size());
            EXPECT_EQ(plan->values[step.inputs[chainWeight(*chain, 1)]].name, "w");
            EXPECT_EQ(step.sources.size(), 2U);
        }
    // The hidden value has no place.
    EXPECT_LT(plan->peakBytes, int64_t{100352} * 384 * 2);
}

TEST(PlanChain, StaysApartWithoutAKernel) {
    const std::string text = layers(100352, 96, 384);
    EXPECT_EQ(chainsOf(*planned(text, "t4")), 0U); // no 16-byte copies beside arithmetic
    EXPECT_EQ(chainsOf(*planned(text, "h200", BackendKind::Cuda, false)), 0U);
    EXPECT_EQ(chainsOf(*planned(layers(100352, 768, 3072), "h200")), 0U); // no room for sums
    EXPECT_EQ(chainsOf(*planned(layers(100352, 90, 360), "h200")), 0U);
    EXPECT_EQ(chainsOf(*planned(text, "h200", BackendKind::Cuda, true, {"chain_*"})), 0U);
    EXPECT_EQ(chainsOf(*planned(text, "h200", BackendKind::Cuda, true, {"chain_w*"})), 1U);
}

TEST(PlanChain, StaysApartWhereSomebodyWantsWhatIsBetween) {
    EXPECT_EQ(chainsOf(*planned(layers(100352, 96, 384, "float16[{0},{1}] y, float16[{0},{2}] h"),
                                "h200")),
              0U);
    EXPECT_EQ(chainsOf(*planned(layers(100352, 96, 384, "float16[{0},{1}] y, float16[{0},{2}] z",
                                       "y = MatMul(h, w) z = Exp(h)"),
                                "h200")),
              0U);
}

/// A record says what both ways are predicted to take.
TEST(PlanChain, PriceDecides) {
    for (const int64_t rows : {128, 100352}) {
        const auto plan = planned(layers(rows, 192, 768), "h200");
        ASSERT_EQ(plan->groups.size(), 1U);
        const GroupRecord& record = plan->groups[0];
        ASSERT_EQ(record.reason.facts.size(), 2U);
        const double apart = std::stod(record.reason.facts[0].value),
                     together = std::stod(record.reason.facts[1].value);
        EXPECT_EQ(record.taken, together < 0.95 * apart) << record.reason.text();
        EXPECT_EQ(chainsOf(*plan), record.taken ? 1U : 0U);
    }
}

/// The rows are in the registers of the chain's kernel anyway.
TEST(PlanChain, ANormalisationInFrontIsMadeWhereItsRowsAre) {
    const auto plan = planned(behindNorm(100352, 96, 384), "h200");
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->steps.size(), 1U);
    const auto* chain = std::get_if<Chain>(&plan->steps[0].program.code);
    ASSERT_TRUE(chain);
    EXPECT_TRUE(rowsOf(*chain));
    EXPECT_EQ(plan->steps[0].inputs.size(), plan->steps[0].program.inputs.size());
    EXPECT_EQ(plan->steps[0].sources.size(), 3U);
    ASSERT_EQ(plan->groups.size(), 2U); // the products, then the row and these
    for (const GroupRecord& record : plan->groups)
        EXPECT_TRUE(record.taken);
    EXPECT_NE(plan->groups[1].reason.message.find("rows that another kernel makes"),
              std::string::npos);
    EXPECT_EQ(plan->peakBytes, int64_t{100352} * 96 * 2); // the result: nothing passes in memory
    const DeviceProfile profile = *deviceProfile("h200"); // rows are folded here too
    EXPECT_GT(fixedSeconds(plan->steps[0].program, profile, profile.units),
              fixedSeconds(chain->members[1], profile, profile.units));
}

/// A near miss each: who else reads the rows, what the device has kernels for, what the price says.
TEST(PlanChain, ANormalisationStaysApart) {
    auto apart = [](const std::string& text, const char* why) {
        SCOPED_TRACE(why);
        const auto plan = planned(text, "h200");
        ASSERT_TRUE(plan);
        for (const Step& step : plan->steps) {
            const auto* chain = std::get_if<Chain>(&step.program.code);
            EXPECT_FALSE(chain && rowsOf(*chain));
        }
        EXPECT_TRUE(std::any_of(plan->steps.begin(), plan->steps.end(), [](const Step& step) {
            return kindOf(step.program) == ProgramKind::Row;
        }));
    };
    apart(behindNorm(100352, 96, 384, "float16[{0},{1}] y, float16[{0},{1}] x"),
          "a caller reads the rows");
    apart(behindNorm(100352, 96, 384, "float16[{0},{1}] y", "u = MatMul(h, w) y = Add(u, x)"),
          "the rows are added behind the layers");
    apart(behindNorm(6304, 768, 3072), "the layers are apart");
    const auto plan = planned(behindNorm(25088, 192, 768), "h200");
    for (const GroupRecord& record : plan->groups) { // whichever way it is, the price says so
        const double two = std::stod(record.reason.facts[0].value),
                     one = std::stod(record.reason.facts[1].value);
        EXPECT_EQ(record.taken, one < 0.95 * two) << record.reason.text();
    }
}

/// What a decoder's step has: a normalisation of a few rows and the products that read it, whose
/// weights v, w, p and q are computed, so that no two of them become one.
std::string token(const std::string& rows, const std::string& outputs, const std::string& readers,
                  const std::string& front = "x = RMSNormalization<axis=-1>(z, s)") {
    std::string weights;
    for (const char* name : {"v", "w", "p", "q"})
        weights += fmt::format(", float16[768,2048] {}", name);
    return fmt::format("g (float16[{0},768] z, float16[768] s{1}) => ({2}) {{ {3} {4} }}", rows,
                       weights, fmt::format(fmt::runtime(outputs), rows), front, readers);
}

std::shared_ptr<const Plan> plannedToken(const std::string& text,
                                         const std::vector<std::string>& without = {}) {
    return planned(text, "h200", BackendKind::Cuda, false, without);
}

constexpr const char *oneResult = "float16[{0},2048] y",
                     *twoResults = "float16[{0},2048] y, float16[{0},2048] u",
                     *oneReader = "y = MatMul(x, v)",
                     *twoReaders = "y = MatMul(x, v) u = MatMul(x, w)";

TEST(PlanChain, AProductOfFewRowsMakesThem) {
    for (const char* rows : {"1", "1,1", "8"}) {
        SCOPED_TRACE(rows);
        const auto plan = plannedToken(token(rows, oneResult, oneReader));
        ASSERT_TRUE(plan);
        ASSERT_EQ(plan->steps.size(), 1U);
        const auto* chain = std::get_if<Chain>(&plan->steps[0].program.code);
        ASSERT_TRUE(chain);
        EXPECT_EQ(productCount(*chain), 1U);
        EXPECT_EQ(plan->steps[0].sources.size(), 2U);
        ASSERT_EQ(plan->groups.size(), 1U);
        EXPECT_TRUE(plan->groups[0].taken);
        EXPECT_NE(plan->groups[0].reason.message.find("as one that makes them"), std::string::npos)
            << plan->groups[0].reason.message;
    }
}

/// Each of them does the row again, and one of them has its node.
TEST(PlanChain, AllReadersOfARowMakeIt) {
    const auto plan = plannedToken(token("1", twoResults, twoReaders));
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->steps.size(), 2U);
    EXPECT_EQ(chainsOf(*plan), 2U);
    EXPECT_TRUE(plan->steps[0].recomputed.empty());
    EXPECT_EQ(plan->steps[1].recomputed.size(), 1U);
    size_t nodes = 0;
    for (const Step& step : plan->steps)
        nodes += step.sources.size();
    EXPECT_EQ(nodes, 3U);
    ASSERT_EQ(plan->groups.size(), 1U);
    EXPECT_EQ(plan->groups[0].members.size(), 3U);
    EXPECT_NE(plan->groups[0].reason.message.find("as ones that each make them"),
              std::string::npos);
    const double apart = std::stod(plan->groups[0].reason.facts[0].value),
                 each = std::stod(plan->groups[0].reason.facts[1].value);
    EXPECT_LT(each, apart);
}

/// A near miss each.
TEST(PlanChain, ARowOfAProductStaysApart) {
    auto apart = [](const std::string& text, const char* why,
                    const std::vector<std::string>& without = {}) {
        SCOPED_TRACE(why);
        const auto plan = plannedToken(text, without);
        ASSERT_TRUE(plan);
        EXPECT_EQ(chainsOf(*plan), 0U);
        EXPECT_TRUE(std::any_of(plan->steps.begin(), plan->steps.end(), [](const Step& step) {
            return kindOf(step.program) == ProgramKind::Row;
        }));
    };
    apart(token("1", "float16[{0},2048] y, float16[{0},768] x", oneReader), "a caller reads it");
    apart(token("1", "float16[{0},2048] y, float16[{0},768] u", "y = MatMul(x, v) u = Exp(x)"),
          "who reads it is no product");
    apart(token("9", oneResult, oneReader), "more rows than the kernel has");
    apart(token("9", twoResults, twoReaders), "each has too many rows");
    apart(token("8", oneResult, oneReader, "x = LpNormalization<axis=0>(z)"),
          "along another dimension");
    apart(token("1", oneResult, oneReader), "without the kernel", {"gemv_*"});
    apart(token("8,1", "float16[1,{0},2048] y",
                "e = Transpose<perm=[1,0,2]>(x) r = Exp(e) y = MatMul(r, v)"),
          "something between them");
}

/// Folding it four times takes longer than its launch.
TEST(PlanChain, ARowOfManyProductsStaysApart) {
    const auto plan = plannedToken(token(
        "1", "float16[{0},2048] a, float16[{0},2048] b, float16[{0},2048] c, float16[{0},2048] d",
        "a = MatMul(x, v) b = MatMul(x, w) c = MatMul(x, p) d = MatMul(x, q)"));
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->steps.size(), 5U);
    EXPECT_EQ(chainsOf(*plan), 0U);
    ASSERT_EQ(plan->groups.size(), 1U);
    EXPECT_FALSE(plan->groups[0].taken);
    EXPECT_EQ(plan->groups[0].members.size(), 5U);
}

/// Whatever profile a plan is for: a backend without such kernels runs its body, or none is formed.
TEST(PlanChain, EveryBackendComputesIt) {
    for (const BackendKind kind : {BackendKind::Reference, BackendKind::Cpu})
        expectCompiledAgrees(layers(2000, 16, 64), kind, 5, [&](const Plan& plan) {
            EXPECT_EQ(chainsOf(plan), kind == BackendKind::Reference ? 1U : 0U);
        });
}

/// Normalisations of a few rows, what reads them and which of that a caller wants, drawn: the plan
/// gives what the model does, whichever of them became parts of products.
TEST(PlanChain, DrawnRowsAndProductsGiveTheModelsResults) {
    uint32_t state = 5;
    auto draw = [&](int most) {
        state = state * 1664525U + 1013904223U;
        return static_cast<int>((state >> 8) % static_cast<uint32_t>(most));
    };
    size_t hosted = 0, apart = 0;
    for (int i = 0; i < 60; ++i) {
        const int rows = 1 + draw(10), terms = 8 * (1 + draw(12)), columns = 8 * (1 + draw(12));
        const char* const fronts[] = {"x = RMSNormalization<axis=-1>(z, s)",
                                      "a = Add(z, r) x = RMSNormalization<axis=-1>(a, s)",
                                      "x = LayerNormalization<axis=-1>(z, s)",
                                      "x = Softmax<axis=0>(z)"};
        const char* const readers[] = {
            "y = MatMul(x, v)", "m = MatMul(x, v) y = Tanh(m)",
            "m = MatMul(x, v) n = MatMul(x, w) y = Mul(m, n)",
            "m = MatMul(x, v) n = MatMul(z, w) y = Mul(m, n)",
            "m = MatMul(x, v) n = ReduceMean<axes=[1]>(x) y = Mul(m, n)"};
        const std::string text = fmt::format(
            "g (float16[{0},{1}] z, float16[{0},{1}] r, float16[{1}] s, float16[{1},{2}] v, "
            "float16[{1},{2}] w) => (float16[{0},{2}] y{5}) {{ {3} {4} }}",
            rows, terms, columns, fronts[draw(4)], readers[draw(5)],
            draw(6) == 0 ? fmt::format(", float16[{},{}] x", rows, terms) : std::string());
        SCOPED_TRACE(text);
        // The reference takes every program.
        expectCompiledAgrees(text, BackendKind::Reference, static_cast<uint64_t>(i),
                             [&](const Plan& plan) { (chainsOf(plan) > 0 ? hosted : apart) += 1; });
    }
    EXPECT_GT(hosted, 15U);
    EXPECT_GT(apart, 10U);
}

} // namespace
