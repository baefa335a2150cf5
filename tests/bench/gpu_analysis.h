// SPDX-License-Identifier: Apache-2.0
// A network as it is fused and planned for a GPU that is not here, for benches of predictions.
#pragma once

#include "app/pipeline/analysis.h"
#include "app/pipeline/rules.h"
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <string>
#include <utility>

namespace fuselage {

/// `model`: a name of the zoo, or a text of ONNX behind its name. Sizes besides the batch are
/// those of the benches. Errors: those of building, loading and analysing.
inline Result<app::Analysis> analysedForGpu(const std::string& model, Precision precision,
                                            int64_t batch, const DeviceProfile& profile,
                                            const Backend& backend) {
    auto graph =
        model.find('(') == std::string::npos ? zoo::build(model) : model_io::loadText("g " + model);
    if (!graph)
        return failure(graph.error());
    app::LoadedModel loaded;
    loaded.graph = std::move(*graph);
    Progress progress;
    if (auto prepared = prepareGraph(loaded.graph, progress); !prepared)
        return failure(prepared.error());
    static const auto rules = app::requireRuleLibrary({});
    if (!rules)
        return failure(rules.error());
    app::AnalysisOptions options;
    options.profile = profile;
    options.backend = &backend;
    options.fuse.device = profile;
    options.fuse.precision = precision;
    options.fuse.dims = {{"N", batch}, {"S", 128}, {"H", 64}, {"W", 64}};
    return app::analyse(loaded, *rules, options, progress);
}

} // namespace fuselage
