// SPDX-License-Identifier: Apache-2.0
// A model as text, compiled for a backend with an H200's plan, run and compared. For tests.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fuselage {

/// Fails where an output is not what the interpreter makes of generated inputs. `look` is given the
/// plan that ran.
inline void expectCompiledAgrees(const std::string& text, BackendKind kind, uint64_t seed,
                                 const auto& look) {
    auto graph = model_io::loadText(text);
    ASSERT_TRUE(graph) << graph.error().text();
    inferShapes(*graph);
    auto inputs = app::generateInputs(*graph, seed);
    ASSERT_TRUE(inputs);
    std::vector<ReferenceValue> values;
    for (const Tensor& input : *inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool threads(1);
    Progress progress;
    auto wanted = interpret(*graph, values, threads, progress);
    ASSERT_TRUE(wanted);
    CompileOptions options;
    options.backend = kind;
    options.profile = "h200";
    auto compiled = CompiledGraph::compile(graph->clone(), options);
    ASSERT_TRUE(compiled) << compiled.error().text();
    look(compiled->plan());
    auto outputs = compiled->run(*inputs);
    ASSERT_TRUE(outputs) << outputs.error().text();
    for (size_t i = 0; i < outputs->size(); ++i)
        EXPECT_TRUE(app::compareOutput(std::to_string(i), "", (*wanted)[i], (*outputs)[i]).ok);
}

} // namespace fuselage
