// SPDX-License-Identifier: Apache-2.0
// A model whose sizes become known after fusion is planned as well as one whose sizes were known
// before: what is fused with sizes open keeps nothing from what they would simplify.
#include "app/pipeline/analysis.h"
#include "app/pipeline/prepared.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

const DimensionValues sizes = {{"N", 2}, {"S", 3}, {"P", 9}, {"H", 8}, {"W", 8}};

struct Planned {
    size_t steps = 0;
    double seconds = 0;
};

Planned plannedFused(const std::string& name, bool sizesFirst) {
    Progress progress;
    auto library = app::loadRuleLibrary({});
    auto built = zoo::build(name);
    EXPECT_TRUE(library && built);
    app::LoadedModel model;
    model.graph = std::move(*built);
    app::AnalysisOptions options;
    options.profile = *deviceProfile("cpu_avx512");
    if (sizesFirst)
        bindAllDimensions(model.graph, sizes);
    else
        options.fuse.dims = sizes;
    EXPECT_TRUE(prepareGraph(model.graph, progress));
    auto analysis = app::analyse(model, *library, options, progress);
    EXPECT_TRUE(analysis) << (analysis ? "" : analysis.error().text());
    if (!analysis)
        return {};
    const Plan& plan = *analysis->after.plan;
    return {plan.steps.size(), plan.totalPredicted().seconds};
}

class ZooSizes : public testing::TestWithParam<std::string> {};

} // namespace

TEST_P(ZooSizes, KnownAfterFusionPlanAsWellAsBefore) {
    const Planned before = plannedFused(GetParam(), true), after = plannedFused(GetParam(), false);
    EXPECT_LE(after.steps, before.steps + 1); // two linears may join only where sizes are known
    EXPECT_LE(after.seconds, before.seconds * 1.01);
}

namespace {

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const zoo::ZooEntry& entry : zoo::models())
        out.push_back(entry.name);
    return out;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Zoo, ZooSizes, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });
