// SPDX-License-Identifier: Apache-2.0
// Blocks that nobody wrote, planned fused and unfused, against the reference: what loops and tiles
// make of shapes that no model has.
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/planned.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"
#include "tests/support/random_blocks.h"
#include "tests/support/small_graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fuselage {
namespace {

using testing_support::Choices;

constexpr testing_support::BlockLimits limits{6000, true};

std::vector<Tensor> resultsOf(const Graph& graph, app::Form form,
                              const std::vector<Tensor>& inputs) {
    Progress progress;
    const DeviceProfile profile = *deviceProfile("cpu");
    const std::unique_ptr<Backend> backend = makeCpuBackend({2});
    app::PlanRequest request;
    request.profile = &profile;
    request.backend = backend.get();
    auto planned =
        app::planSide(std::make_shared<const Graph>(graph.clone()), form, request, progress);
    if (!planned) {
        ADD_FAILURE() << planned.error().text();
        return {};
    }
    auto executable = backend->prepare(planned->plan, progress);
    if (!executable) {
        ADD_FAILURE() << executable.error().text();
        return {};
    }
    auto outputs = (*executable)->outputs(inputs, progress);
    if (!outputs) {
        ADD_FAILURE() << outputs.error().text();
        return {};
    }
    return std::move(*outputs);
}

/// The largest difference, relative to the largest number that is above one.
double differenceOf(const Tensor& got, const ReferenceValue& wanted) {
    double most = 0, scale = 1;
    for (size_t i = 0; i < wanted.ints.size(); ++i)
        if (got.at(static_cast<int64_t>(i)) != static_cast<double>(wanted.ints[i]))
            return std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < wanted.floats.size(); ++i) {
        const double difference = std::abs(got.at(static_cast<int64_t>(i)) - wanted.floats[i]);
        most = std::isnan(difference) ? difference : std::max(most, difference);
        scale = std::max(scale, std::abs(wanted.floats[i]));
    }
    return most / scale;
}

class CpuBlocks : public ::testing::Test {
protected:
    bool fails(const std::string& text) const {
        Progress progress;
        Graph graph = testing_support::smallGraph(text);
        (void)*foldConstants(graph, {}, progress);
        graph.removeDead();
        const std::vector<Tensor> inputs = *app::generateInputs(graph, 1);
        std::vector<ReferenceValue> given;
        for (const Tensor& input : inputs)
            given.push_back(ReferenceValue::from(input));
        ThreadPool pool(1);
        const auto wanted = interpret(graph, given, pool, progress);
        const app::FuseOptions usual;
        const Graph fused = std::move(app::fuseGraph(graph, m_library, usual, progress)->graph);
        const auto isWrong = [&](const Graph& of, app::Form form) {
            const std::vector<Tensor> got = resultsOf(of, form, inputs);
            return got.empty() || !(differenceOf(got[0], (*wanted)[0]) < 1e-4);
        };
        return isWrong(graph, app::Form::Unfused) || isWrong(fused, app::Form::Fused);
    }

    app::RuleLibrary m_library = *app::loadRuleLibrary({});
};

TEST_F(CpuBlocks, RunAsTheReference) {
    for (uint32_t seed = 0; seed < 3000; ++seed) {
        Choices choices(seed);
        if (!fails(testing_support::randomBlock(choices, limits)))
            continue;
        const auto small = testing_support::shrunk(
            choices.drawn(),
            [&](const testing_support::ChoiceList& list) {
                Choices given(list);
                return fails(testing_support::randomBlock(given, limits));
            },
            300);
        Choices again(small);
        FAIL() << "seed " << seed << ": " << testing_support::randomBlock(again, limits);
    }
}

} // namespace
} // namespace fuselage
