// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/planned.h"

#include "core/passes/specialise.h"
#include "core/passes/write_out.h"

namespace fuselage::app {

PlanOptions planOptions(Form form, const PlanRequest& request) {
    const bool fused = form == Form::Fused;
    PlanOptions options;
    options.profile = request.profile;
    options.backend = request.backend;
    options.precision = request.precision;
    options.strict = request.strict;
    options.allowed = request.allowed;
    // A strict plan copies: a strided operand may be summed in another order.
    options.stridedViews = fused && !request.strict;
    options.recompute = options.groupSmall = options.sweeps = fused;
    return options;
}

Result<Planned> planSide(std::shared_ptr<const Graph> graph, Form form, const PlanRequest& request,
                         Progress& progress) {
    Planned out{graph, nullptr, {}};
    if (request.profile->kind == DeviceKind::Gpu && hasComposite(*graph)) {
        auto written = std::make_shared<Graph>(graph->clone());
        writeOutComposites(*written);
        graph = std::move(written);
    }
    if (request.shapes) {
        Graph shown = graph->clone();
        auto assumed = specialise(shown, *request.shapes, progress);
        if (!assumed)
            return failure(assumed.error());
        out.assumed = std::move(*assumed);
        graph = std::make_shared<const Graph>(std::move(shown));
    }
    PlanOptions options = planOptions(form, request);
    options.shown = request.shapes;
    auto plan = makePlan(std::move(graph), options, progress);
    if (!plan)
        return failure(plan.error());
    out.plan = std::move(*plan);
    return out;
}

} // namespace fuselage::app
