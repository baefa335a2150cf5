// SPDX-License-Identifier: Apache-2.0
// Graphs from text, and plans of them for a device that need not be here.
#pragma once

#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"

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

} // namespace fuselage::test
