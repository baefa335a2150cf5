// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/shapes_of_run.h"

#include "app/pipeline/stopwatch.h"
#include "core/passes/specialise.h"
#include "core/plan/backend.h"
#include "core/support/text.h"

#include <fmt/format.h>

namespace fuselage::app {

namespace {

/// One sentence about what was assumed; empty: nothing.
std::string noteOn(const AssumedShapes& assumed) {
    constexpr size_t shown = 3;
    std::vector<std::string> names;
    for (const AssumedShapes::Contents& contents : assumed.contents)
        names.push_back("`" + contents.value + "`");
    for (const std::string& value : assumed.values)
        names.push_back("`" + value + "`");
    if (names.empty())
        return {};
    const size_t more = names.size() - std::min(names.size(), shown);
    names.resize(names.size() - more);
    return fmt::format("shapes depend on data ({}{}): both sides are planned for those of a run "
                       "with these inputs, other data would be planned anew",
                       joined(names), more > 0 ? fmt::format(" and {} more", more) : "");
}

} // namespace

Result<RunShapes> shapesOfRun(std::shared_ptr<const Graph> graph, const std::vector<Tensor>& inputs,
                              int threads, Progress& progress) {
    auto profile = deviceProfile("cpu");
    if (!profile)
        return failure(profile.error());
    auto backend = makeCpuBackend({.threads = threads});
    auto side = planSide(std::move(graph), Form::Unfused, {&*profile, backend.get()}, progress);
    if (!side)
        return failure(side.error());
    auto executable = backend->prepare(side->plan, progress);
    if (!executable)
        return failure(executable.error());
    auto ran = (*executable)->run(inputs, {.shapes = true}, progress);
    if (!ran)
        return failure(ran.error());
    return std::move(ran->shapes);
}

Result<Analysis> analyseForData(const LoadedModel& model, const RuleLibrary& library,
                                AnalysisOptions options, const std::vector<Tensor>& inputs,
                                int threads, Progress& progress) {
    auto analysis = analyse(model, library, options, progress);
    if (!analysis || !dependsOnData(*analysis->before.graph))
        return analysis;
    Stopwatch watch;
    auto shapes = shapesOfRun(analysis->before.graph, inputs, threads, progress);
    if (!shapes)
        return failure(shapes.error());
    const double seconds = watch.lap();
    options.shapes = &*shapes;
    auto planned = analyse(model, library, options, progress);
    if (!planned && !progress.cancelled())
        return failure("run.assumed", planned.error().message, planned.error().where);
    if (planned) {
        planned->report.stageSeconds["shapes"] = seconds;
        if (std::string note = noteOn(planned->before.assumed); !note.empty())
            planned->report.model.notes.push_back(std::move(note));
    }
    return planned;
}

} // namespace fuselage::app
