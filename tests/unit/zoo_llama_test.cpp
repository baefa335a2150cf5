// SPDX-License-Identifier: Apache-2.0
// A layer of a language model in four spellings: as many launches, the same numbers, and a cache
// that grows from run to run.
#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/prepared.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace fuselage;

namespace {

const std::vector<std::string> spellings{"llama_block", "llama_block_23", "llama_block_ort",
                                         "llama_block_int4"};

struct Sizes {
    int64_t tokens, past;
};

Graph sized(const std::string& name, Sizes sizes) {
    auto built = zoo::build(name);
    EXPECT_TRUE(built) << (built ? "" : built.error().text());
    Graph graph = std::move(*built);
    Progress progress;
    EXPECT_TRUE(bindDimensions(graph, {{"N", 2}, {"S", sizes.tokens}, {"P", sizes.past}}));
    EXPECT_TRUE(prepareGraph(graph, progress));
    return graph;
}

CompiledGraph fused(const std::string& name, Sizes sizes) {
    Progress progress;
    auto library = app::loadRuleLibrary({});
    EXPECT_TRUE(library);
    auto made = app::fuseGraph(sized(name, sizes), *library, {}, progress);
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    CompileOptions options;
    options.threads = 1;
    auto compiled = CompiledGraph::compile(std::move(made->graph), options);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text());
    return std::move(*compiled);
}

std::vector<Tensor> reference(const std::string& name, Sizes sizes,
                              const std::vector<Tensor>& inputs) {
    CompileOptions options;
    options.backend = BackendKind::Reference;
    auto compiled = CompiledGraph::compile(sized(name, sizes), options);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text());
    auto outputs = compiled->run(inputs);
    EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().text());
    return *outputs;
}

void expectNear(const Tensor& got, const Tensor& wanted, double tolerance) {
    ASSERT_EQ(got.extents(), wanted.extents());
    double largest = 0;
    for (int64_t i = 0; i < wanted.elementCount(); ++i)
        largest = std::max(largest, std::abs(wanted.at(i)));
    for (int64_t i = 0; i < wanted.elementCount(); ++i)
        ASSERT_NEAR(got.at(i), wanted.at(i), tolerance * largest) << i;
}

/// Rows [first, first + count) of [N, rows, columns].
Tensor rowsOf(const Tensor& from, int64_t first, int64_t count) {
    const int64_t rows = from.extents()[1], columns = from.extents()[2];
    Tensor out(DType::Float32, {from.extents()[0], count, columns});
    for (int64_t n = 0; n < from.extents()[0]; ++n)
        for (int64_t i = 0; i < count * columns; ++i)
            out.set(n * count * columns + i, from.at((n * rows + first) * columns + i));
    return out;
}

class LlamaBlock : public testing::TestWithParam<std::string> {};

} // namespace

TEST_P(LlamaBlock, ComputesWhatIsWrittenOut) {
    for (const Sizes sizes : {Sizes{6, 0}, Sizes{1, 9}, Sizes{3, 4}}) {
        auto inputs = app::generateInputs(sized(GetParam(), sizes), 7);
        ASSERT_TRUE(inputs);
        const bool isRounded = GetParam() == "llama_block_int4"; // weights of its own
        const auto wanted = reference(isRounded ? GetParam() : "llama_block", sizes, *inputs);
        CompiledGraph compiled = fused(GetParam(), sizes);
        auto got = compiled.run(*inputs);
        ASSERT_TRUE(got) << got.error().text();
        ASSERT_EQ(got->size(), wanted.size());
        for (size_t i = 0; i < wanted.size(); ++i)
            expectNear((*got)[i], wanted[i], 1e-4);
    }
}

TEST_P(LlamaBlock, LaunchesAsTheOthersDo) {
    for (const Sizes sizes : {Sizes{6, 0}, Sizes{1, 9}}) {
        const auto plain = fused("llama_block", sizes).plan().steps.size();
        const auto own = fused(GetParam(), sizes).plan().steps.size();
        EXPECT_LE(std::max(plain, own) - std::min(plain, own), 1U) << own << " and " << plain;
    }
}

/// As a file is fused for sizes that a run will have: what only they decide is decided then.
TEST_P(LlamaBlock, LaunchesAsManyWhereSizesComeAfterFusion) {
    const Sizes sizes{1, 9};
    const DimensionValues dims = {{"N", 2}, {"S", sizes.tokens}, {"P", sizes.past}};
    Progress progress;
    auto library = app::loadRuleLibrary({});
    ASSERT_TRUE(library);
    auto built = zoo::build(GetParam());
    ASSERT_TRUE(built);
    ASSERT_TRUE(prepareGraph(*built, progress));
    app::FuseOptions fusing;
    fusing.dims = dims;
    auto made = app::fuseGraph(*built, *library, fusing, progress);
    ASSERT_TRUE(made) << made.error().text();
    auto bound = app::withSizes(std::move(made->graph), dims, progress);
    ASSERT_TRUE(bound) << bound.error().text();
    CompileOptions options;
    options.threads = 1;
    auto compiled = CompiledGraph::compile(std::move(*bound), options);
    ASSERT_TRUE(compiled) << compiled.error().text();
    const auto before = fused(GetParam(), sizes).plan().steps.size();
    EXPECT_LE(compiled->plan().steps.size(), before + 1);
}

/// Four tokens at once and then one give what five at once give.
TEST_P(LlamaBlock, IsASessionWithItsCache) {
    const Sizes whole{5, 0}, prompt{4, 0}, next{1, 4};
    auto inputs = app::generateInputs(sized(GetParam(), whole), 3);
    ASSERT_TRUE(inputs);
    auto wanted = fused(GetParam(), whole).run(*inputs);
    ASSERT_TRUE(wanted) << wanted.error().text();
    const Tensor& hidden = (*inputs)[0];
    auto first = fused(GetParam(), prompt).run({rowsOf(hidden, 0, 4), (*inputs)[1], (*inputs)[2]});
    ASSERT_TRUE(first) << first.error().text();
    auto second = fused(GetParam(), next).run({rowsOf(hidden, 4, 1), (*first)[1], (*first)[2]});
    ASSERT_TRUE(second) << second.error().text();
    expectNear((*second)[0], rowsOf((*wanted)[0], 4, 1), 1e-4);
    expectNear((*second)[1], (*wanted)[1], 1e-4);
    expectNear((*second)[2], (*wanted)[2], 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Spellings, LlamaBlock, testing::ValuesIn(spellings),
                         [](const auto& info) { return info.param; });
