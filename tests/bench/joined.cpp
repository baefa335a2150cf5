// SPDX-License-Identifier: Apache-2.0
// Products of one operand as one product: predicted and measured, whether or not the plan takes
// them, and a gated layer in both forms. Processor time of one thread, in turns; ratios are of the
// whole small model.
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"
#include "tests/bench/processor_time.h"
#include "tests/support/small_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

using namespace fuselage;

namespace {

Graph fusedGraph(const std::string& text, const app::RuleLibrary& library) {
    Progress progress;
    const Graph graph = testing_support::smallGraph(text);
    const app::FuseOptions usual;
    return std::move(app::fuseGraph(graph, library, usual, progress)->graph);
}

enum class Joins : uint8_t { None, Decided, All };

class Subject {
public:
    Subject(const Graph& graph, Joins joins) : m_backend(makeCpuBackend({1})) {
        DeviceProfile profile = *deviceProfile("cpu");
        if (joins == Joins::All)
            profile.launchSeconds = 1;
        PlanOptions options;
        options.profile = &profile;
        options.backend = m_backend.get();
        options.recompute = true;
        options.groupSmall = joins != Joins::None;
        Progress progress;
        plan = *makePlan(std::make_shared<const Graph>(graph.clone()), options, progress);
        m_executable = std::move(*m_backend->prepare(plan, progress));
        m_inputs = *app::generateInputs(graph, 1);
    }

    double seconds(int runs) {
        Progress progress;
        const double begin = bench::processorSeconds();
        for (int i = 0; i < runs; ++i)
            (void)m_executable->outputs(m_inputs, progress);
        return (bench::processorSeconds() - begin) / runs;
    }

    std::shared_ptr<const Plan> plan;

private:
    std::unique_ptr<Backend> m_backend;
    std::unique_ptr<Executable> m_executable;
    std::vector<Tensor> m_inputs;
};

/// Median of the turns' second over first.
double ratio(Subject& first, Subject& second) {
    constexpr int turns = 21;
    constexpr double secondsOfATurn = 0.01;
    first.seconds(3);
    const int runs = std::max(1, static_cast<int>(secondsOfATurn / first.seconds(3)));
    second.seconds(runs);
    std::vector<double> out;
    for (int i = 0; i < turns; ++i) {
        const double base = first.seconds(runs);
        out.push_back(second.seconds(runs) / base);
    }
    std::nth_element(out.begin(), out.begin() + turns / 2, out.end());
    return out[turns / 2];
}

std::string layers(int64_t rows, int64_t depth, int64_t columns,
                   const std::vector<std::string>& ends) {
    std::string signature = fmt::format("(float[{},{}] x", rows, depth), results, body;
    for (size_t i = 0; i < ends.size(); ++i) {
        signature += fmt::format(", float[{},{}] w{}, float[{}] wb{}, float[{},16] wo{}", depth,
                                 columns, i, columns, i, columns, i);
        results += fmt::format("{}float[{},16] y{}", i > 0 ? ", " : "", rows, i);
        body += fmt::format("m{0} = MatMul(x, w{0}) s{0} = Add(m{0}, wb{0}) a{0} = {1}(s{0}) "
                            "y{0} = MatMul(a{0}, wo{0}) ",
                            i, ends[i]);
    }
    return signature + ") => (" + results + ") { " + body + "}";
}

/// 1x1 in front of 3x3, as in an inception block.
std::string reductions(int64_t depth, int64_t extent, const std::vector<int64_t>& columns) {
    std::string signature = fmt::format("(float[1,{0},{1},{1}] x", depth, extent), results, body;
    for (size_t i = 0; i < columns.size(); ++i) {
        signature +=
            fmt::format(", float[{0},{1},1,1] w{2}, float[{0}] wb{2}, float[32,{0},3,3] wo{2}",
                        columns[i], depth, i);
        results += fmt::format("{0}float[1,32,{1},{1}] y{2}", i > 0 ? ", " : "", extent, i);
        body += fmt::format("c{0} = Conv(x, w{0}, wb{0}) a{0} = Relu(c{0}) "
                            "y{0} = Conv<pads = [1, 1, 1, 1]>(a{0}, wo{0}) ",
                            i);
    }
    return signature + ") => (" + results + ") { " + body + "}";
}

std::string factOf(const GroupRecord& record, const std::string& name) {
    for (const auto& fact : record.reason.facts)
        if (fact.name == name)
            return fact.value;
    return "?";
}

void compareJoined(const std::string& name, const std::string& text,
                   const app::RuleLibrary& library) {
    const Graph graph = fusedGraph(text, library);
    Subject apart(graph, Joins::None), decided(graph, Joins::Decided), all(graph, Joins::All);
    if (decided.plan->groups.empty())
        return fmt::print("{:34} nothing to join\n", name);
    const GroupRecord& record = decided.plan->groups[0];
    fmt::print("{:34} {:>10} {:>10}  {:5}  {:8.2f}\n", name, factOf(record, "apart_us"),
               factOf(record, "one_us"), record.taken ? "one" : "apart", ratio(apart, all));
}

void compareGated(int64_t rows, int64_t depth, int64_t columns, const app::RuleLibrary& library) {
    const Graph two = fusedGraph(
        fmt::format("(float[{0},{1}] x, float[{1},{2}] w0, float[{1},{2}] w1) => (float[{0},{2}] y)"
                    " {{ a = MatMul(x, w0) s = Sigmoid(a) g = Mul(a, s) b = MatMul(x, w1)"
                    " y = Mul(g, b) }}",
                    rows, depth, columns),
        library);
    const Graph one =
        fusedGraph(fmt::format("(float[{0},{1}] x, float[{1},{3}] w0) => (float[{0},{2}] y)"
                               " <int64[2] parts = {{{2}, {2}}}> {{ c = MatMul(x, w0)"
                               " a, b = Split<axis = 1>(c, parts) s = Sigmoid(a) g = Mul(a, s)"
                               " y = Mul(g, b) }}",
                               rows, depth, columns, 2 * columns),
                   library);
    Subject apart(two, Joins::None), joined(one, Joins::None);
    fmt::print("{:34} {:>10.4g} {:>10.4g}  {:5}  {:8.2f}\n",
               fmt::format("gated {}x{} to {}", rows, depth, columns),
               apart.plan->totalPredicted().seconds * 1e6,
               joined.plan->totalPredicted().seconds * 1e6, "apart", ratio(apart, joined));
}

} // namespace

int main() {
    const app::RuleLibrary library = *app::loadRuleLibrary({});
    fmt::print("{:34} {:>10} {:>10}  {:5}  {:>8}\n", "", "apart us", "one us", "plan", "measured");
    compareJoined("4 layers 1x256 to 64", layers(1, 256, 64, {4, "Relu"}), library);
    compareJoined("3 layers 64x128 to 32", layers(64, 128, 32, {3, "Relu"}), library);
    compareJoined("3 layers 512x768 to 768", layers(512, 768, 768, {3, "Relu"}), library);
    compareJoined("Relu, Sigmoid, Tanh 64x128 to 32",
                  layers(64, 128, 32, {"Relu", "Sigmoid", "Tanh"}), library);
    compareJoined("convolutions 32@14 to 16 16", reductions(32, 14, {16, 16}), library);
    compareJoined("convolutions 64@7 to 16 16", reductions(64, 7, {16, 16}), library);
    compareJoined("convolutions 192@28 to 96 16", reductions(192, 28, {96, 16}), library);
    compareJoined("convolutions 480@14 to 96 16", reductions(480, 14, {96, 16}), library);
    for (const auto& [rows, depth, columns] : {std::array<int64_t, 3>{1, 768, 2048},
                                               {16, 768, 2048},
                                               {128, 768, 2048},
                                               {512, 256, 512},
                                               {64, 128, 256}})
        compareGated(rows, depth, columns, library);
}
