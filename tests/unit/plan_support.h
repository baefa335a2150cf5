// SPDX-License-Identifier: Apache-2.0
// Graphs from text, and plans of them for a device that need not be here.
#pragma once

#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"
#include "core/plan/make_plan.h"
#include "tests/support/choices.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace fuselage::test {

/// "(float[2] x) => (float[2] y) { y = Relu(x) }", prepared as a loaded model is.
inline Graph preparedGraph(const std::string& text) {
    auto graph = model_io::loadText("g " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    Progress progress;
    EXPECT_TRUE(prepareGraph(*graph, progress));
    return std::move(*graph);
}

/// The options' profile is that of the device, whose launches take `launchSeconds` where given.
inline std::shared_ptr<const Plan> planFor(const Graph& graph, const std::string& device,
                                           PlanOptions options,
                                           std::optional<double> launchSeconds = {}) {
    auto profile = deviceProfile(device);
    EXPECT_TRUE(profile);
    if (launchSeconds)
        profile->launchSeconds = *launchSeconds;
    options.profile = &*profile;
    Progress progress;
    auto plan = makePlan(std::make_shared<const Graph>(graph.clone()), options, progress);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    return plan ? *plan : std::make_shared<const Plan>();
}

/// No element is further apart than `relative` of the largest one of `b`, which counts as `least`
/// at least.
inline bool isNear(const Tensor& a, const Tensor& b, double relative, double least) {
    double largest = 0, apart = 0;
    for (int64_t i = 0; i < a.elementCount(); ++i) {
        largest = std::max(largest, std::abs(b.at(i)));
        apart = std::max(apart, std::abs(a.at(i) - b.at(i)));
    }
    return apart <= relative * std::max(largest, least);
}

inline std::vector<Tensor> outputsOfPlan(std::shared_ptr<const Plan> plan, Backend& backend,
                                         const std::vector<Tensor>& inputs) {
    Progress progress;
    auto executable = backend.prepare(std::move(plan), progress);
    EXPECT_TRUE(executable) << (executable ? "" : executable.error().text());
    auto outputs = (*executable)->outputs(inputs, progress);
    EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().text());
    return outputs ? std::move(*outputs) : std::vector<Tensor>();
}

/// What `look` sees in the graph of each seed goes to `count`; where its `wrong` is not empty, the
/// smallest such graph is shown. `graphOf` draws a graph.
template <typename GraphOf, typename Look, typename Count>
void lookAtSeeds(uint32_t seeds, GraphOf graphOf, Look look, Count count) {
    using testing_support::ChoiceList;
    using testing_support::Choices;
    for (uint32_t seed = 0; seed < seeds; ++seed) {
        Choices choices(seed);
        (void)graphOf(choices);
        const ChoiceList list = choices.drawn();
        const auto seen = look(list);
        count(seen);
        if (seen.wrong.empty())
            continue;
        const ChoiceList smallest = testing_support::shrunk(
            list, [&](const ChoiceList& each) { return !look(each).wrong.empty(); }, 200);
        Choices again(smallest);
        FAIL() << "seed " << seed << ": " << look(smallest).wrong << "\n" << text(graphOf(again));
    }
}

} // namespace fuselage::test
