// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/backend_test.h"

#include "core/graph/captures.h"
#include "core/onnx/value_file.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"
#include "tests/conformance/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace fuselage::conformance {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> subfolders(const fs::path& path) {
    std::vector<std::string> out;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(path, failed))
        if (entry.is_directory())
            out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
}

using Values = std::vector<ReferenceValue>;

/// The writer of the test data had no bfloat16 and stored the bits as uint16.
void restoreBfloat16(const Type& declared, ReferenceValue& value) {
    if (declared.dtype != DType::BFloat16 || value.dtype != DType::UInt16)
        return;
    value.dtype = DType::BFloat16;
    for (int64_t bits : value.ints)
        value.floats.push_back(bfloat16ToFloat(static_cast<uint16_t>(bits)));
    value.ints.clear();
}

Result<Values> readValues(const Graph& graph, const std::vector<ValueId>& ids,
                          const std::string& stem) {
    Values out;
    for (size_t i = 0; i < ids.size(); ++i) {
        const std::string path = fmt::format("{}_{}.pb", stem, i);
        if (!fs::exists(path)) // trailing inputs may be optional
            break;
        auto value = model_io::loadValue(path, graph.value(ids[i]).type.kind);
        if (!value)
            return failure(value.error());
        restoreBfloat16(graph.value(ids[i]).type, *value);
        out.push_back(std::move(*value));
    }
    return out;
}

bool isRandom(const Graph& graph) {
    for (NodeId id : graph.nodes())
        if (hasTrait(graph.node(id).op, Nondeterministic))
            return true;
    return false;
}

Failure failed(const char* phase, const std::string& message) {
    return failure(fmt::format("conformance.{}", phase), fmt::format("{}: {}", phase, message));
}

Result<void> checkInference(Graph& graph, const Values& expected) {
    for (const InferProblem& problem : inferShapes(graph))
        if (!problem.warning())
            return failed("infer", problem.message);
    for (size_t i = 0; i < expected.size(); ++i)
        if (auto found = contradiction(graph.value(graph.outputs()[i]).type, expected[i]))
            return failed("infer", fmt::format("output {} {}", i, *found));
    return {};
}

Result<Comparison> compare(const char* phase, const Graph& graph, const Values& outputs,
                           const Values& expected) {
    if (outputs.size() < expected.size())
        return failed(phase, "too few outputs");
    Comparison comparison = Comparison::Values;
    for (size_t i = 0; i < expected.size(); ++i) {
        auto found = difference(outputs[i], expected[i]);
        if (found && isRandom(graph)) {
            comparison = Comparison::TypesOnly;
            found = typeDifference(outputs[i], expected[i]);
        }
        if (found)
            return failed(phase, fmt::format("output {}: {}", i, *found));
    }
    return comparison;
}

Result<Comparison> interpretAndCompare(const char* phase, const Graph& graph, const Values& inputs,
                                       const Values& expected, ThreadPool& threads) {
    Progress progress;
    auto outputs = interpret(graph, inputs, threads, progress);
    if (!outputs)
        return failed(phase, outputs.error().text());
    return compare(phase, graph, *outputs, expected);
}

bool allTensors(const Values& values) {
    return std::all_of(values.begin(), values.end(), [](const ReferenceValue& value) {
        return value.kind == TypeKind::Tensor && value.dtype != DType::String;
    });
}

Type typeOf(const ReferenceValue& value) {
    return tensorType(value.dtype, toShape(value.extents));
}

/// A plan is made for the extents of the stored inputs.
Result<std::shared_ptr<const Plan>> planFor(Graph graph, const Values& inputs, Runner& runner) {
    for (size_t i = 0; i < inputs.size(); ++i)
        graph.setType(graph.inputs()[i], typeOf(inputs[i]));
    Progress progress;
    if (auto prepared = prepareGraph(graph, progress); !prepared)
        return failed("prepare", prepared.error().text());
    PlanOptions options;
    options.profile = &runner.profile;
    options.backend = runner.backend.get();
    return makePlan(std::make_shared<const Graph>(std::move(graph)), options, progress);
}

Result<Comparison> planAndCompare(const Graph& graph, const Values& inputs, const Values& expected,
                                  Runner& runner) {
    if (!allTensors(inputs) || !allTensors(expected) || inputs.size() != graph.inputs().size())
        return failed("plan", "inputs and outputs are not all numeric tensors");
    auto plan = planFor(graph, inputs, runner);
    if (!plan)
        return failed(plan.error().code == "plan.dynamic" ? "plan" : "make plan",
                      plan.error().code == "plan.dynamic" ? "shapes depend on data"
                                                          : plan.error().text());
    Progress progress;
    auto executable = runner.backend->prepare(*plan, progress);
    if (!executable)
        return failed("prepare kernels", executable.error().text());
    std::vector<Tensor> tensors;
    for (const ReferenceValue& input : inputs)
        tensors.push_back(input.toTensor());
    auto results = (*executable)->outputs(tensors, progress);
    if (!results)
        return failed("run", results.error().text());
    Values outputs;
    for (const Tensor& result : *results)
        outputs.push_back(ReferenceValue::from(result));
    return compare("run", graph, outputs, expected);
}

Result<Comparison> runDataSet(const fs::path& folder, Graph graph, Runner& runner) {
    auto inputs = readValues(graph, graph.inputs(), (folder / "input").string());
    if (!inputs)
        return failed("data", inputs.error().text());
    auto expected = readValues(graph, graph.outputs(), (folder / "output").string());
    if (!expected)
        return failed("data", expected.error().text());
    if (expected->empty())
        return failed("data", "no expected outputs");
    // A few data sets do not fit the types that their model declares: the data counts.
    for (size_t i = 0; i < inputs->size(); ++i)
        if ((*inputs)[i].kind == TypeKind::Tensor &&
            contradiction(graph.value(graph.inputs()[i]).type, (*inputs)[i]))
            graph.setType(graph.inputs()[i], typeOf((*inputs)[i]));
    if (auto good = checkInference(graph, *expected); !good)
        return failure(good.error());
    if (runner.backend)
        return planAndCompare(graph, *inputs, *expected, runner);
    auto good = interpretAndCompare("run", graph, *inputs, *expected, runner.threads);
    if (!good)
        return good;
    Progress progress;
    if (auto prepared = prepareGraph(graph, progress); !prepared)
        return failed("prepare", prepared.error().text());
    return interpretAndCompare("folded", graph, *inputs, *expected, runner.threads);
}

void collectOperators(const Graph& graph, std::set<std::string>& out) {
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (node.op == Op::Unknown)
            out.insert(node.customDomain.empty() ? node.customOp
                                                 : node.customDomain + "." + node.customOp);
        else
            out.insert(nameOf(node.op));
        for (const SubgraphRef& ref : subgraphsOf(node))
            collectOperators(*ref.graph, out);
    }
}

} // namespace

std::vector<BackendTest> findTests(const std::string& data) {
    std::vector<BackendTest> out;
    for (const char* set : {"node", "simple", "pytorch-converted", "pytorch-operator"})
        for (const std::string& name : subfolders(fs::path(data) / set)) {
            fs::path path = fs::path(data) / set / name;
            if (fs::exists(path / "model.onnx"))
                out.push_back({set, name, path.string()});
        }
    return out;
}

std::set<std::string> operatorsOf(const Graph& graph) {
    std::set<std::string> out;
    collectOperators(graph, out);
    return out;
}

Result<Comparison> runTest(const BackendTest& test, const Graph& graph, Runner& runner) {
    std::optional<Comparison> comparison;
    for (const std::string& name : subfolders(test.path)) {
        if (!name.starts_with("test_data_set_"))
            continue;
        auto good = runDataSet(fs::path(test.path) / name, graph.clone(), runner);
        if (!good)
            return good;
        comparison = std::max(comparison.value_or(Comparison::Values), *good);
    }
    if (!comparison)
        return failed("data", "no data set");
    return *comparison;
}

} // namespace fuselage::conformance
