// SPDX-License-Identifier: Apache-2.0
// How good the predictions are: every kernel of some networks, predicted against measured on the
// cpu backend, and what deciding by prediction costs. Measured is the fastest of all runs of a
// kernel, so that a busy machine disturbs less; totals are sums of those.
//   bench_scatter [--device PROFILE] [--threads N] [--seconds S] [--publish FILE --command TEXT]
//                 [MODEL...]
#include "app/pipeline/scatter.h"

#include "app/pipeline/analysis.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/machine.h"
#include "app/pipeline/rules.h"
#include "app/report/format.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

using namespace fuselage;

namespace {

struct Options {
    std::string device = "cpu", publish, command;
    int threads = 0;
    double seconds = 3; ///< of each side of each model
    std::vector<std::string> models;
};

/// One plan with the seconds of its steps.
struct Side {
    std::shared_ptr<const Plan> plan;
    std::vector<double> measured;
};

struct Subject {
    std::string model;
    std::vector<app::ScatterPoint> points; ///< of the fused plan
    double regret = 0; ///< of fusing what is predicted to gain, over the better of both each time
};

Result<Side> measured(Backend& backend, std::shared_ptr<const Plan> plan,
                      const std::vector<Tensor>& inputs, double seconds) {
    Progress progress;
    auto executable = backend.prepare(plan, progress);
    if (!executable)
        return failure(executable.error());
    auto times = app::fastestSteps(**executable, inputs, seconds, progress);
    if (!times)
        return failure(times.error());
    return Side{std::move(plan), std::move(*times)};
}

/// Each fused step against the steps of the unfused plan that compute the same nodes.
double regretOf(const Side& before, const Side& after) {
    std::map<std::string, size_t> stepOfNode;
    for (size_t i = 0; i < before.plan->steps.size(); ++i)
        for (const std::string& source : before.plan->steps[i].sources)
            stepOfNode[source] = i;
    double chosen = 0, best = 0;
    for (size_t i = 0; i < after.plan->steps.size(); ++i) {
        const Step& fused = after.plan->steps[i];
        std::set<size_t> parts;
        for (const std::string& source : fused.sources)
            if (auto found = stepOfNode.find(source); found != stepOfNode.end())
                parts.insert(found->second);
        double predicted = 0, seconds = 0;
        for (size_t part : parts) {
            predicted += before.plan->steps[part].predicted.seconds;
            seconds += before.measured[part];
        }
        if (parts.empty())
            continue;
        chosen += fused.predicted.seconds < predicted ? after.measured[i] : seconds;
        best += std::min(after.measured[i], seconds);
    }
    return best > 0 ? chosen / best - 1 : 0;
}

Result<Subject> subjectOf(const std::string& model, const Options& options,
                          const DeviceProfile& profile) {
    auto graph = zoo::build(model);
    if (!graph)
        return failure(graph.error());
    Progress progress;
    app::LoadedModel loaded;
    loaded.graph = std::move(*graph);
    if (auto prepared = prepareGraph(loaded.graph, progress); !prepared)
        return failure(prepared.error());
    auto library = app::requireRuleLibrary({});
    if (!library)
        return failure(library.error());
    auto backend = makeCpuBackend({options.threads, false});
    app::AnalysisOptions analysing;
    analysing.profile = profile;
    analysing.backend = backend.get();
    auto analysis = app::analyse(loaded, *library, analysing, progress);
    if (!analysis)
        return failure(analysis.error());
    auto inputs = app::generateInputs(*analysis->before.plan->graph, 1);
    if (!inputs)
        return failure(inputs.error());
    auto before = measured(*backend, analysis->before.plan, *inputs, options.seconds);
    if (!before)
        return failure(before.error());
    auto after = measured(*backend, analysis->after.plan, *inputs, options.seconds);
    if (!after)
        return failure(after.error());
    Subject out{model, {}, regretOf(*before, *after)};
    for (size_t i = 0; i < after->plan->steps.size(); ++i) {
        const Step& step = after->plan->steps[i];
        out.points.push_back(
            {step.name, nameOf(kindOf(step.program)), step.predicted.seconds, after->measured[i]});
    }
    return out;
}

std::string summaryTable(const std::vector<Subject>& subjects) {
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Right, Align::Right, Align::Right, Align::Right,
                          Align::Right, Align::Right, Align::Right});
    table.row({"", "kernels", "predicted", "measured", "predicted/measured", "median error",
               "Kendall tau", "regret"});
    std::map<std::string, std::vector<app::ScatterPoint>> kinds;
    auto add = [&](const std::string& name, const std::vector<app::ScatterPoint>& points,
                   const std::string& regret) {
        double predicted = 0, seconds = 0;
        for (const app::ScatterPoint& point : points) {
            predicted += point.predicted;
            seconds += point.measured;
        }
        const app::ScatterSummary summary = app::summarise(points);
        table.row({name, std::to_string(points.size()), app::secondsText(predicted),
                   app::secondsText(seconds), fmt::format("{:.2f}", summary.total),
                   fmt::format("{:.0f} %", 100 * summary.medianError),
                   fmt::format("{:.2f}", summary.tau), regret});
    };
    for (const Subject& subject : subjects) {
        add(subject.model, subject.points, fmt::format("{:.1f} %", 100 * subject.regret));
        for (const app::ScatterPoint& point : subject.points)
            kinds[point.kind].push_back(point);
    }
    for (const auto& [kind, points] : kinds)
        add(kind, points, "");
    return table.text("");
}

std::string pointTable(const std::vector<Subject>& subjects) {
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Left, Align::Right, Align::Right, Align::Left});
    table.row({"model", "kernel", "predicted us", "measured us", "node"});
    for (const Subject& subject : subjects)
        for (const app::ScatterPoint& point : subject.points)
            table.row({subject.model, point.kind, fmt::format("{:.1f}", point.predicted * 1e6),
                       fmt::format("{:.1f}", point.measured * 1e6), point.name});
    return table.text("");
}

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool more = i + 1 < argc;
        if (word.rfind("--", 0) != 0)
            options.models.push_back(word);
        else if (word == "--device" && more)
            options.device = argv[++i];
        else if (word == "--threads" && more)
            options.threads = std::atoi(argv[++i]);
        else if (word == "--seconds" && more)
            options.seconds = std::atof(argv[++i]);
        else if (word == "--publish" && more)
            options.publish = argv[++i];
        else if (word == "--command" && more)
            options.command = argv[++i];
        else
            return false;
    }
    if (options.models.empty())
        options.models = {"resnet50", "vit_b_16", "bert_base"};
    return true;
}

int complain(const Error& error) {
    fmt::print(stderr, "bench_scatter: {}\n", error.text());
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        fmt::print(stderr, "usage: bench_scatter [--device PROFILE] [--threads N] [--seconds S] "
                           "[--publish FILE --command TEXT] [MODEL...]\n");
        return 2;
    }
    auto profile = deviceProfile(options.device);
    if (!profile)
        return complain(profile.error());
    std::vector<Subject> subjects;
    for (const std::string& model : options.models) {
        auto subject = subjectOf(model, options, *profile);
        if (!subject)
            return complain(subject.error());
        subjects.push_back(std::move(*subject));
    }
    double load = 0;
    const bool known = ::getloadavg(&load, 1) == 1;
    const std::string head =
        fmt::format("{}\nthreads {}, load average afterwards {}\npredictions of profile `{}`\n\n",
                    app::text(app::inspectMachine()),
                    options.threads == 0 ? "all" : std::to_string(options.threads),
                    known ? fmt::format("{:.1f}", load) : "not known", profile->name);
    const std::string summary = head + summaryTable(subjects);
    fmt::print("{}", summary);
    if (options.publish.empty())
        return 0;
    std::ofstream(options.publish)
        << "<!-- SPDX-License-Identifier: Apache-2.0 -->\n# Predicted against measured, kernel by "
           "kernel\n\nWritten by `"
        << options.command << "`. Do not edit: run it again.\n\n```\n"
        << summary << "\n"
        << pointTable(subjects) << "```\n";
    return 0;
}
