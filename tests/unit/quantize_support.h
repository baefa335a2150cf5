// SPDX-License-Identifier: Apache-2.0
// Small models, quantised with generated inputs.
#pragma once

#include "app/quantize/quantize.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/unit/library_support.h"

#include <map>

namespace fuselage::testing_quantize {

using namespace fuselage::testing_rules;

inline app::LoadedModel modelOf(const std::string& text) {
    app::LoadedModel out;
    Progress quiet;
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    if (!graph)
        return out;
    out.graph = std::move(*graph);
    EXPECT_TRUE(prepareGraph(out.graph, quiet));
    return out;
}

inline quantize::QuantizeOptions
optionsOf(quantize::RangeMethod method = quantize::RangeMethod::MinMax) {
    quantize::QuantizeOptions out;
    out.fuse.decide = Decide::Rules;
    out.range.method = method;
    return out;
}

inline Result<quantize::Quantized> quantised(const app::LoadedModel& model,
                                             const quantize::QuantizeOptions& options,
                                             const app::RuleLibrary& library = standardLibrary()) {
    Progress quiet;
    return quantizeModel(model, library, quantize::InputSets::generated(1, 2), options, quiet);
}

/// Operators with how many nodes there are of each.
inline std::map<std::string, int> operatorsOf(const Graph& graph) {
    std::map<std::string, int> out;
    for (NodeId id : graph.nodes())
        ++out[opText(graph.node(id))];
    return out;
}

/// Two convolutions and a sum of both results.
constexpr const char* residual =
    "g (float[1,2,4,4] x) => (float[1,2,4,4] y)"
    "<float[2,2,1,1] v = {1, 2, 3, 4}, float[2,2,1,1] w = {2, 1, -1, 3}, float[2] b = {1, 2}> {"
    "  a = Conv(x, v, b) c = Relu(a) d = Conv(c, w) s = Add(d, c) y = Relu(s) }";

} // namespace fuselage::testing_quantize
