// SPDX-License-Identifier: Apache-2.0
// `lowering_check`: whole graphs of ONNX's backend tests, and pieces cut out of real exports, as
// bodies: what lowers is evaluated element by element and compared with the body run node by node,
// and its counted bytes with the logical traffic. Exit codes: 0 good, 1 something differs, 2 wrong
// use, 77 neither data is there.
#include "core/cost/cost.h"
#include "core/graph/subgraph.h"
#include "core/kernel/evaluate.h"
#include "core/kernel/lower.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"
#include "tests/conformance/backend_test.h"
#include "tests/conformance/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

using namespace fuselage;
using namespace fuselage::conformance;

namespace {

namespace fs = std::filesystem;

/// Larger programs take too long element by element.
constexpr int64_t maxWork = 2'000'000;
constexpr size_t maxCutNodes = 10;

class Random {
public:
    uint32_t below(uint32_t limit) {
        m_state = m_state * 1664525U + 1013904223U;
        return (m_state >> 8) % limit;
    }

private:
    uint32_t m_state = 1;
};

struct Totals {
    std::map<std::string, size_t> kinds, refusals;
    std::vector<std::string> failures;
    size_t compared = 0;
};

std::vector<ReferenceValue> randomInputs(const LowerRequest& request, Random& random) {
    std::vector<ReferenceValue> out;
    for (size_t i = 0; i < request.constants.size(); ++i) {
        if (request.constants[i]) {
            out.push_back(ReferenceValue::from(*request.constants[i]));
            continue;
        }
        const Type& type = request.body->value(request.body->inputs()[i]).type;
        ReferenceValue value = ReferenceValue::tensor(type.dtype, *type.extents());
        for (double& number : value.floats)
            number = roundTo(type.dtype, random.below(2001) / 500.0 - 2.0);
        for (int64_t& number : value.ints)
            number = random.below(2);
        out.push_back(std::move(value));
    }
    return out;
}

bool isSmall(const KernelProgram& program) {
    const Work work = workOf(program);
    return work.flops + work.issue < maxWork && logicalTraffic(program).logical() < maxWork;
}

std::optional<std::string> differs(const KernelProgram& program,
                                   const std::vector<ReferenceValue>& inputs,
                                   const std::vector<ReferenceValue>& wanted) {
    auto got = evaluate(program, inputs);
    if (!got)
        return got.error().text();
    for (size_t i = 0; i < wanted.size(); ++i)
        if (auto found = difference(got->outputs[i], wanted[i], {1e-6, 1e-6}))
            return fmt::format("output {}: {}", i, *found);
    const Traffic traffic = logicalTraffic(program);
    if (traffic.logicalRead != got->bytesRead || traffic.logicalWritten != got->bytesWritten)
        return fmt::format("counted {} + {} bytes, logical traffic says {} + {}", got->bytesRead,
                           got->bytesWritten, traffic.logicalRead, traffic.logicalWritten);
    return std::nullopt;
}

/// `inputs` are made up where none are given.
void checkBody(const std::string& name, const LowerRequest& request,
               std::vector<ReferenceValue> inputs, Random& random, Totals& totals) {
    LowerResult result = lower(request);
    if (auto* reason = std::get_if<Reason>(&result)) {
        ++totals.refusals[reason->code];
        return;
    }
    const auto& program = std::get<KernelProgram>(result);
    ++totals.kinds[nameOf(kindOf(program))];
    if (std::holds_alternative<Library>(program.code) || !isSmall(program))
        return;
    if (inputs.empty())
        inputs = randomInputs(request, random);
    ThreadPool threads(1);
    Progress progress;
    auto wanted = interpret(*request.body, inputs, threads, progress);
    if (!wanted) // random indices may be out of range
        return;
    ++totals.compared;
    if (auto found = differs(program, inputs, *wanted))
        totals.failures.push_back(fmt::format("{}: {}\n{}", name, *found, text(program)));
}

/// The stored inputs; empty when they are not all tensors of the declared types.
std::vector<ReferenceValue> storedInputs(const std::string& folder, const Graph& graph) {
    std::vector<ReferenceValue> out;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
        const std::string path = fmt::format("{}/test_data_set_0/input_{}.pb", folder, i);
        const Type& type = graph.value(graph.inputs()[i]).type;
        auto tensor = fs::exists(path) && type.kind == TypeKind::Tensor
                          ? model_io::loadTensor(path)
                          : Result<Tensor>(failure("absent", "no tensor"));
        if (!tensor || !certainlyEqual(tensor->type(), type))
            return {};
        out.push_back(ReferenceValue::from(*tensor));
    }
    return out;
}

void checkBackendTests(const std::string& data, Random& random, Totals& totals) {
    for (const BackendTest& test : findTests(data)) {
        Progress progress;
        auto graph = model_io::load((fs::path(test.path) / "model.onnx").string(), {}, progress);
        if (!graph || !prepareGraph(*graph, progress))
            continue; // the other conformance programs report these
        std::vector<ReferenceValue> inputs = storedInputs(test.path, *graph);
        if (inputs.empty())
            continue;
        LowerRequest request;
        request.constants.resize(graph->inputs().size());
        request.body = std::make_shared<const Graph>(std::move(*graph));
        checkBody(test.set + "/" + test.name, request, std::move(inputs), random, totals);
    }
}

/// A run of nodes along the topological order, or down along uses.
std::vector<NodeId> cutNodes(const Graph& graph, const std::vector<NodeId>& order, size_t start,
                             bool downstream, Random& random) {
    const size_t count = 2 + random.below(maxCutNodes - 1);
    std::vector<NodeId> out{order[start]};
    while (out.size() < count) {
        NodeId next;
        if (downstream) {
            ValueId result = graph.node(out.back()).outputs[0];
            if (result.valid() && !graph.value(result).uses.empty()) {
                const std::vector<Use>& uses = graph.value(result).uses;
                next = uses[random.below(static_cast<uint32_t>(uses.size()))].node;
            }
        } else if (start + out.size() < order.size()) {
            next = order[start + out.size()];
        }
        if (!next.valid() || std::find(out.begin(), out.end(), next) != out.end())
            break;
        out.push_back(next);
    }
    return out;
}

void checkModel(const fs::path& path, Random& random, Totals& totals) {
    Progress progress;
    auto graph = model_io::load(path.string(), {}, progress);
    if (!graph)
        return;
    bindAllDimensions(*graph, {}, 1);
    if (!prepareGraph(*graph, progress))
        return;
    const std::vector<NodeId> order = topologicalOrder(*graph);
    for (size_t i = 0; i < order.size(); ++i)
        for (bool downstream : {false, true}) {
            std::vector<NodeId> nodes = cutNodes(*graph, order, i, downstream, random);
            std::vector<ValueId> escaping = escapingValues(*graph, nodes);
            if (nodes.size() < 2 || escaping.empty())
                continue;
            Cut cut = cutOut(*graph, nodes, escaping);
            LowerRequest request;
            for (ValueId input : cut.inputs)
                request.constants.push_back(graph->value(input).constant);
            request.body = std::make_shared<const Graph>(std::move(cut.body));
            checkBody(fmt::format("{} at {}", path.filename().string(), i), request, {}, random,
                      totals);
        }
}

int report(const Totals& totals) {
    for (const std::string& failure : totals.failures)
        fmt::print("FAILED {}\n", failure);
    for (const auto& [kind, count] : totals.kinds)
        fmt::print("{:<32}{:>8}\n", kind, count);
    for (const auto& [code, count] : totals.refusals)
        fmt::print("{:<32}{:>8}\n", "refused: " + code, count);
    fmt::print("{} programs compared, {} differ\n", totals.compared, totals.failures.size());
    if (totals.compared == 0) {
        fmt::print("skipped: no test data (install libonnx-testdata or set FUSELAGE_MODELS)\n");
        return 77;
    }
    return totals.failures.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    std::string data, models;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string option = argv[i];
        if (option != "--data" && option != "--models") {
            fmt::print(stderr, "usage: lowering_check [--data FOLDER] [--models FOLDER]\n");
            return 2;
        }
        (option == "--data" ? data : models) = argv[i + 1];
    }
    Random random;
    Totals totals;
    if (!data.empty())
        checkBackendTests(data, random, totals);
    std::error_code failed;
    std::vector<fs::path> paths;
    if (!models.empty())
        for (const auto& entry : fs::directory_iterator(models, failed))
            if (entry.path().extension() == ".onnx")
                paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths)
        checkModel(path, random, totals);
    return report(totals);
}
