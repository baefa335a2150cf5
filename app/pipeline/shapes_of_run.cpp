// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/shapes_of_run.h"

#include "app/pipeline/shapes_apart.h"
#include "app/pipeline/staged.h"
#include "app/pipeline/stopwatch.h"
#include "core/passes/specialise.h"
#include "core/plan/backend.h"
#include "core/plan/lazy.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <tuple>

namespace fuselage::app {

namespace {

/// "`n`, `m` and 2 more"
std::string namesIn(const AssumedShapes& assumed) {
    constexpr size_t shown = 3;
    std::vector<std::string> names;
    for (const AssumedShapes::Contents& contents : assumed.contents)
        names.push_back("`" + contents.value + "`");
    for (const std::string& value : assumed.values)
        names.push_back("`" + value + "`");
    const size_t more = names.size() - std::min(names.size(), shown);
    names.resize(names.size() - more);
    return joined(names) + (more > 0 ? fmt::format(" and {} more", more) : "");
}

/// What was assumed, in words; empty: nothing.
std::string noteOn(const Analysis& analysis, const ShapesOfSides& shapes) {
    const AssumedShapes& assumed = analysis.before.assumed;
    if (assumed.empty() && analysis.after.assumed.empty())
        return {};
    const std::string apart =
        shapesApart(*analysis.before.graph, assumed, shapes.before, shapes.after);
    if (apart.empty())
        return fmt::format("shapes depend on data ({}): both sides are planned for those of a run "
                           "with these inputs, other data would be planned anew",
                           namesIn(assumed.empty() ? analysis.after.assumed : assumed));
    return fmt::format("shapes depend on data, and the last digits of this run decide them: {}. "
                       "Each side is planned for its own shapes, so their bytes and "
                       "times are of different amounts of work; with --strict both have the same",
                       apart);
}

} // namespace

Result<RunShapes> shapesOfRun(std::shared_ptr<const Graph> graph, Form form, PlanRequest request,
                              const std::vector<Tensor>& inputs, int threads, Progress& progress) {
    auto profile = deviceProfile("cpu");
    if (!profile)
        return failure(profile.error());
    auto backend = makeCpuBackend({.threads = threads});
    request.profile = &*profile;
    request.backend = backend.get();
    const auto prepare = [&](Graph part, Progress& waiting) -> Result<std::unique_ptr<Executable>> {
        auto side =
            planSide(std::make_shared<const Graph>(std::move(part)), form, request, waiting);
        if (!side)
            return failure(side.error());
        return backend->prepare(side->plan, waiting);
    };
    auto general = makeLazy([&](Progress& waiting) { return prepare(graph->clone(), waiting); });
    auto ran =
        makeStaged(std::move(general), graph, prepare)->run(inputs, {.shapes = true}, progress);
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
    PlanRequest request;
    request.precision = options.fuse.precision;
    request.strict = options.fuse.strict;
    request.allowed = numericClasses(library);
    ShapesOfSides shapes;
    for (auto [side, form, out] : {std::tuple(&analysis->before, Form::Unfused, &shapes.before),
                                   {&analysis->after, Form::Fused, &shapes.after}}) {
        auto shown = shapesOfRun(side->graph, form, request, inputs, threads, progress);
        if (!shown)
            return failure(shown.error());
        *out = std::move(*shown);
    }
    const double seconds = watch.lap();
    options.shapes = &shapes;
    auto planned = analyse(model, library, options, progress);
    if (!planned && !progress.cancelled())
        return failure("run.assumed", planned.error().message, planned.error().where);
    if (planned) {
        planned->report.stageSeconds["shapes"] = seconds;
        if (std::string note = noteOn(*planned, shapes); !note.empty())
            planned->report.model.notes.push_back(std::move(note));
    }
    return planned;
}

} // namespace fuselage::app
