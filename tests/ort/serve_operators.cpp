// SPDX-License-Identifier: Apache-2.0
// `serve_operators`: this side of random_operators.py. Each line of its input is a small model with
// its inputs, as JSON; each line of its output says what inference knows of the outputs, and what
// they are by the reference interpreter on the graph as loaded, by the cpu backend unfused, and by
// it fused; the fused model is saved besides. Judges nothing.
//   {"model": PATH, "saved": PATH, "dims": {symbol: extent},
//    "inputs": [{"name", "dtype", "extents", "hex" or "strings"}]}
//   {"load": error} or
//   {"problems": [...], "notes": [...], "types": [{"dtype", "extents" (null: open)}],
//    "reference": RUN, "cpu": RUN, "fused": RUN with "saved": {"inputs": [names]} or {"error"}}
// A RUN is {"error": text} or {"outputs": [tensors as inputs are]}.
#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/rules.h"
#include "core/graph/dtype.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <iostream>

using namespace fuselage;
using nlohmann::json;

namespace {

constexpr std::string_view digits = "0123456789abcdef";

std::string hexOf(const Tensor& tensor) {
    std::string out;
    for (size_t i = 0; i < tensor.byteCount(); ++i) {
        const auto byte = static_cast<unsigned>(tensor.bytes()[i]);
        out += digits[byte >> 4U];
        out += digits[byte & 15U];
    }
    return out;
}

json jsonOf(const Tensor& tensor) {
    json out{{"dtype", nameOf(tensor.dtype())}, {"extents", tensor.extents()}};
    if (tensor.dtype() == DType::String)
        out["strings"] = tensor.strings();
    else
        out["hex"] = hexOf(tensor);
    return out;
}

/// The script writes what it is asked for: a malformed line throws, and the process ends.
Tensor tensorOf(const json& described) {
    Tensor out(*dtypeFromName(described.at("dtype").get<std::string>()),
               described.at("extents").get<Extents>());
    if (out.dtype() == DType::String) {
        out.strings() = described.at("strings").get<std::vector<std::string>>();
        return out;
    }
    const auto hex = described.at("hex").get<std::string>();
    for (size_t i = 0; i < out.byteCount(); ++i)
        out.bytes()[i] = static_cast<std::byte>(digits.find(hex.at(2 * i)) << 4U |
                                                digits.find(hex.at(2 * i + 1)));
    return out;
}

json errorOf(const Error& error) {
    return {{"error", error.text()}};
}

json byReference(const Graph& graph, const std::vector<Tensor>& inputs, ThreadPool& threads) {
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    Progress progress;
    auto results = interpret(graph, std::move(values), threads, progress);
    if (!results)
        return errorOf(results.error());
    json outputs = json::array();
    for (const ReferenceValue& result : *results)
        outputs.push_back(jsonOf(result.toTensor()));
    return {{"outputs", outputs}};
}

using Sizes = std::map<std::string, int64_t>;

json byCpu(Graph graph, const std::vector<Tensor>& inputs, const Sizes& dims) {
    CompileOptions options;
    options.threads = 1;
    bindAllDimensions(graph, dims);
    auto compiled = CompiledGraph::compile(std::move(graph), options);
    if (!compiled)
        return errorOf(compiled.error());
    auto results = compiled->run(inputs);
    if (!results)
        return errorOf(results.error());
    json outputs = json::array();
    for (const Tensor& result : *results)
        outputs.push_back(jsonOf(result));
    return {{"outputs", outputs}};
}

/// Fused with its dimensions open, as a person would; saved to `file` too.
json byFused(Graph graph, const std::vector<Tensor>& inputs, const Sizes& dims,
             const app::RuleLibrary& library, const std::string& file) {
    app::FuseOptions options;
    options.decide = Decide::Rules;
    options.dims = dims;
    Progress progress;
    if (auto prepared = prepareGraph(graph, progress); !prepared)
        return errorOf(prepared.error());
    auto fused = app::fuseGraph(graph, library, options, progress);
    if (!fused)
        return errorOf(fused.error());
    json saved{{"inputs", json::array()}};
    for (ValueId id : fused->graph.inputs())
        saved["inputs"].push_back(fused->graph.value(id).name);
    if (auto written = model_io::save(fused->graph, file); !written)
        saved = errorOf(written.error());
    json out = byCpu(std::move(fused->graph), inputs, dims);
    out["saved"] = saved;
    return out;
}

json answer(const json& request, const app::RuleLibrary& library, ThreadPool& threads) {
    Progress progress;
    std::vector<std::string> notes;
    model_io::LoadOptions options;
    options.notes = &notes;
    auto graph = model_io::load(request.at("model").get<std::string>(), options, progress);
    if (!graph)
        return {{"load", graph.error().text()}};
    // One with a value in the file is no input here: that value is what ONNX Runtime is given.
    std::vector<Tensor> inputs;
    for (ValueId id : graph->inputs())
        for (const json& input : request.at("inputs"))
            if (input.at("name") == graph->value(id).name)
                inputs.push_back(tensorOf(input));
    json out{{"problems", json::array()}, {"types", json::array()}, {"notes", notes}};
    const auto dims = request.at("dims").get<Sizes>();
    Graph inferred = graph->clone();
    for (const InferProblem& problem : inferShapes(inferred))
        out["problems"].push_back(problem.message);
    for (ValueId id : inferred.outputs()) {
        const Type& type = inferred.value(id).type;
        json extents;
        if (type.shape) {
            extents = json::array();
            for (const Dim& open : *type.shape) {
                const Dim dim = open.bind(dims);
                extents.push_back(dim.isNumber() ? json(dim.value()) : json());
            }
        }
        out["types"].push_back({{"dtype", nameOf(type.dtype)}, {"extents", extents}});
    }
    out["reference"] = byReference(*graph, inputs, threads);
    out["cpu"] = byCpu(graph->clone(), inputs, dims);
    out["fused"] =
        byFused(graph->clone(), inputs, dims, library, request.at("saved").get<std::string>());
    return out;
}

} // namespace

int main() {
    auto library = app::requireRuleLibrary({});
    if (!library) {
        fmt::print(stderr, "{}\n", library.error().text());
        return 1;
    }
    ThreadPool threads(1);
    for (std::string line; std::getline(std::cin, line);)
        std::cout << answer(json::parse(line), *library, threads)
                         .dump(-1, ' ', false, json::error_handler_t::replace)
                  << std::endl;
    return 0;
}
