// SPDX-License-Identifier: Apache-2.0
// One step with its operand and its result in the model's order or with channels innermost:
// predicted and measured seconds of all four. One thread; medians of the step's own time.
#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "core/passes/passes.h"
#include "core/plan/channels_last.h"
#include "core/plan/make_plan.h"
#include "tests/support/small_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace fuselage;

namespace {

/// The cpu backend with channels innermost in the values of these names and in no others.
class Laid final : public Backend {
public:
    explicit Laid(std::set<std::string> last) : m_last(std::move(last)) {}

    std::string name() const override { return m_cpu->name(); }

    std::string description() const override { return m_cpu->description(); }

    std::optional<Reason> supports(const KernelProgram& program) const override {
        return m_cpu->supports(program);
    }

    void chooseLayouts(Plan& plan) const override {
        for (PlanValue& value : plan.values)
            if (m_last.contains(value.name))
                value.strides = channelsLast(value.extents);
        plan.pricedLayouts = true;
    }

    Result<std::unique_ptr<Executable>> prepare(std::shared_ptr<const Plan> plan,
                                                Progress& progress) override {
        return m_cpu->prepare(std::move(plan), progress);
    }

private:
    std::unique_ptr<Backend> m_cpu = makeCpuBackend({1});
    std::set<std::string> m_last;
};

Graph graphOf(const std::string& text) {
    Progress progress;
    Graph graph = testing_support::smallGraph(text);
    (void)prepareGraph(graph, progress);
    return graph;
}

struct Times {
    double predicted = 0, measured = 0;
};

/// Of the step that makes q.
Times timesOf(const Graph& graph, const std::set<std::string>& last) {
    constexpr int runs = 25;
    Progress progress;
    Laid backend(last);
    const DeviceProfile profile = *deviceProfile("cpu");
    PlanOptions options;
    options.profile = &profile;
    options.backend = &backend;
    const auto plan = *makePlan(std::make_shared<const Graph>(graph.clone()), options, progress);
    auto executable = std::move(*backend.prepare(plan, progress));
    const auto inputs = *app::generateInputs(graph, 1);
    size_t at = 0;
    for (size_t i = 0; i < plan->steps.size(); ++i)
        if (plan->values[plan->steps[i].outputs[0]].name == "q")
            at = i;
    std::vector<double> seconds;
    for (int i = 0; i < runs; ++i)
        seconds.push_back(
            executable->run(inputs, {.stepSeconds = true}, progress)->stepSeconds[at]);
    std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
    return {plan->steps[at].predicted.seconds, seconds[runs / 2]};
}

void show(const std::string& title, const std::string& in, const std::string& out,
          const std::string& more, const std::string& body) {
    const Graph graph =
        graphOf(fmt::format("(float[{}] x{}) => (float[{}] y) {{ p = Relu(x) {} y = Relu(q) }}", in,
                            more.empty() ? "" : ", float[" + more + "] w", out, body));
    fmt::print("| {} |", title);
    for (const std::set<std::string>& last : {std::set<std::string>{}, {"p"}, {"q"}, {"p", "q"}}) {
        const Times times = timesOf(graph, last);
        fmt::print(" {:.0f}, {:.0f} |", times.predicted * 1e6, times.measured * 1e6);
    }
    fmt::print("\n");
}

} // namespace

int main() {
    fmt::print(
        "| predicted, measured us | both as in the model | operand last | result last | both "
        "last |\n|---|---|---|---|---|\n");
    const char* const image = "1,64,56,56";
    show("sigmoid of 64x56x56", image, image, "", "q = Sigmoid(p)");
    show("relu of 3x224x224", "1,3,224,224", "1,3,224,224", "", "q = Relu(p)");
    show("convolution 1x1, 64 to 64", image, image, "64,64,1,1", "q = Conv(p, w)");
    show("convolution 3x3, 64 to 64", image, image, "64,64,3,3", "q = Conv<pads=[1,1,1,1]>(p, w)");
    show("convolution 7x7 of an image", "1,3,224,224", "1,64,112,112", "64,3,7,7",
         "q = Conv<pads=[3,3,3,3],strides=[2,2]>(p, w)");
    show("depthwise 3x3, 64", image, image, "64,1,3,3", "q = Conv<pads=[1,1,1,1],group=64>(p, w)");
    show("largest of 3x3", image, image, "", "q = MaxPool<kernel_shape=[3,3],pads=[1,1,1,1]>(p)");
    show("mean of 3x3", image, image, "", "q = AveragePool<kernel_shape=[3,3],pads=[1,1,1,1]>(p)");
    show("mean of all", image, "1,64,1,1", "", "q = GlobalAveragePool(p)");
    show("softmax of channels", image, image, "", "q = Softmax<axis=1>(p)");
    show("softmax of rows", image, image, "", "q = Softmax<axis=-1>(p)");
    show("product of rows", image, "1,64,56,64", "56,64", "q = MatMul(p, w)");
    return 0;
}
