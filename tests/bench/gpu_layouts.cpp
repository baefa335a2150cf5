// SPDX-License-Identifier: Apache-2.0
// What layouts by price are predicted to be worth on a GPU, and what choosing them takes: each
// network of the zoo, fused, by the backend's rules, as in the model and by price; and the seconds
// that planning takes by rules and by price. No device is needed.
// `bench_gpu_layouts DEVICE PRECISION BATCH [MODEL ...]`; a model is a name or a text of ONNX.
#include "app/pipeline/compiled.h"
#include "core/passes/passes.h"
#include "tests/bench/gpu_analysis.h"
#include "tests/support/ruled_layouts.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

using namespace fuselage;
using testing_support::RuledLayouts;
using testing_support::secondsBy;

namespace {

struct Planned {
    std::shared_ptr<const Plan> plan;
    double seconds = 0; ///< of a processor, that planning took
};

Planned planned(const std::shared_ptr<const Graph>& graph, const DeviceProfile& profile,
                const Backend& backend) {
    PlanOptions options;
    options.profile = &profile;
    options.backend = &backend;
    options.recompute = true;
    options.groupSmall = true;
    Progress progress;
    const std::clock_t begin = std::clock();
    auto plan = makePlan(graph, options, progress);
    const auto taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    return {plan ? *plan : nullptr, taken};
}

Result<std::shared_ptr<const Graph>> fused(const std::string& model, Precision precision,
                                           int64_t batch, const DeviceProfile& profile) {
    const auto backend = makePlanningBackend(BackendKind::Cuda, profile);
    const RuledLayouts votes(*backend, true);
    auto analysis = analysedForGpu(model, precision, batch, profile, votes);
    if (!analysis)
        return failure(analysis.error());
    Progress progress;
    Graph out = analysis->fused->clone();
    bindAllDimensions(out, analysis->dims);
    if (auto prepared = prepareGraph(out, progress); !prepared)
        return failure(prepared.error());
    return std::make_shared<const Graph>(std::move(out));
}

void print(const std::string& model, const std::shared_ptr<const Graph>& graph,
           const DeviceProfile& profile) {
    const auto backend = makePlanningBackend(BackendKind::Cuda, profile);
    const RuledLayouts votes(*backend, true), none(*backend, false);
    const Planned byRules = planned(graph, profile, votes), ofModel = planned(graph, profile, none);
    const Planned byPrice = planned(graph, profile, *backend);
    if (!byRules.plan || !ofModel.plan || !byPrice.plan) {
        fmt::print("| {} | not planned |\n", model);
        return;
    }
    const double rules = secondsBy(*byRules.plan, profile, *backend) * 1e6;
    const double price = secondsBy(*byPrice.plan, profile, *backend) * 1e6;
    fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.3f} | {} | {} | {:.2f} | {:.2f} |\n",
               model.substr(0, 40), secondsBy(*ofModel.plan, profile, *backend) * 1e6, rules, price,
               price / rules, byRules.plan->steps.size(), byPrice.plan->steps.size(),
               byRules.seconds, byPrice.seconds);
    for (const LayoutRecord& record : byPrice.plan->layouts)
        if (record.rejected == "by search")
            fmt::print("  {}: {}\n", record.order, record.reason.message);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    const std::string device = argc > 1 ? argv[1] : "h200";
    const auto precision = precisionFromName(argc > 2 ? argv[2] : "fp16");
    const int64_t batch = argc > 3 ? std::atoll(argv[3]) : 32;
    const auto profile = deviceProfile(device);
    if (!profile || !precision) {
        fmt::print("bench_gpu_layouts DEVICE PRECISION BATCH [MODEL ...]\n");
        return 2;
    }
    std::vector<std::string> models(argv + std::min(argc, 4), argv + argc);
    if (models.empty())
        for (const zoo::ZooEntry& entry : zoo::models())
            models.push_back(entry.name);
    fmt::print("| model | as in the model, us | by rules | by price | price / rules | steps by "
               "rules | by price | planning by rules, s of a processor | by price |\n"
               "|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const std::string& model : models) {
        const auto graph = fused(model, *precision, batch, *profile);
        if (graph)
            print(model, *graph, *profile);
        else
            fmt::print("| {} | {} |\n", model, graph.error().text());
    }
    return 0;
}
