// SPDX-License-Identifier: Apache-2.0
// A model and rules as text, asked what explain says of them.
#pragma once

#include "app/pipeline/explain.h"
#include "app/report/explain_text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/support/json_schema.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fuselage::test {

struct Question {
    std::string model, rules;
    std::string rule = {}, node = {};
    Decide decide = Decide::Rules;
    bool builtin = false;
    std::string forms = {}; ///< of a file of their own
    size_t tries = app::ExplainOptions().tries;
    int64_t opset = 17;
    std::string with = {}; ///< the other node of a pair
};

inline app::Explanation explain(const Question& question) {
    app::LoadedModel model;
    auto graph = model_io::loadText(question.model);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    inferShapes(*graph);
    graph->opsetImports[""] = question.opset;
    model.graph = std::move(*graph);
    model.path = "m.onnx";
    app::ExplainOptions options;
    options.rules.builtin = question.builtin;
    options.rules.texts = {{"r.fuse", "fuse 1;\n" + question.rules + "\n"}};
    if (!question.forms.empty())
        options.rules.texts.push_back({"forms.fuse", "fuse 1;\n" + question.forms + "\n"});
    options.rule = question.rule;
    options.node = question.node;
    options.with = question.with;
    options.tries = question.tries;
    options.fuse.profile = "t4";
    options.fuse.decide = question.decide;
    auto library = app::requireRuleLibrary(options.rules);
    EXPECT_TRUE(library) << (library ? "" : library.error().text());
    Progress quiet;
    auto out = app::explainModel(model, *library, options, quiet);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? std::move(*out) : app::Explanation();
}

inline std::string textOf(const Question& question) {
    return "\n" + app::renderExplanation(explain(question), 6);
}

inline void expectSchema(const app::Explanation& explanation) {
    auto document = nlohmann::json::parse(app::renderExplanationJson(explanation));
    for (const std::string& error :
         testing_support::schemaErrors(document, FUSELAGE_SCHEMAS, "explain.schema.json"))
        ADD_FAILURE() << error << "\n" << document.dump(1);
}

} // namespace fuselage::test
