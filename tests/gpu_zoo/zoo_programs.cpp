// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_zoo/zoo_programs.h"

#include "app/pipeline/analysis.h"
#include "app/pipeline/rules.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"

#include <cstdio>

namespace fuselage::gpu_zoo {

namespace {

const DeviceProfile& profile() {
    static const DeviceProfile found = *deviceProfile("h200");
    return found;
}

const app::RuleLibrary& rules() {
    static const app::RuleLibrary library = std::move(*app::requireRuleLibrary({}));
    return library;
}

gpu::OperandLayout layoutOf(const Plan& plan, uint32_t number) {
    const PlanValue& value = plan.values[number];
    return {value.dtype, value.extents, value.strides, 16};
}

void append(std::vector<ZooProgram>& out, const std::string& model,
            const std::shared_ptr<const Plan>& plan, bool fused) {
    for (const Step& step : plan->steps) {
        ZooProgram made{model, step.name, fused, plan, {}};
        made.request.program = &step.program;
        made.request.profile = &profile();
        for (uint32_t input : step.inputs) {
            made.request.inputs.push_back(layoutOf(*plan, input));
            made.request.contents.push_back(plan->values[input].constant);
        }
        for (uint32_t output : step.outputs)
            made.request.outputs.push_back(layoutOf(*plan, output));
        out.push_back(std::move(made));
    }
}

} // namespace

std::vector<ZooProgram> programsOf(const std::string& model) {
    std::vector<ZooProgram> out;
    app::LoadedModel loaded;
    auto graph = zoo::build(model);
    if (!graph) {
        std::fprintf(stderr, "%s\n", graph.error().text().c_str());
        return out;
    }
    Progress progress;
    loaded.graph = std::move(*graph);
    if (auto prepared = prepareGraph(loaded.graph, progress); !prepared) {
        std::fprintf(stderr, "%s\n", prepared.error().text().c_str());
        return out;
    }
    app::AnalysisOptions options;
    options.profile = profile();
    options.fuse.dims = {{"S", 7}, {"P", 5}};
    auto analysis = app::analyse(loaded, rules(), options, progress);
    if (!analysis) {
        std::fprintf(stderr, "%s: %s\n", model.c_str(), analysis.error().text().c_str());
        return out;
    }
    append(out, model, analysis->before, false);
    append(out, model, analysis->after, true);
    return out;
}

std::string describe(const ZooProgram& program) {
    std::string out = program.model + (program.fused ? " fused " : " unfused ") + program.step +
                      ": " + kindOf(*program.request.program);
    for (const gpu::OperandLayout& input : program.request.inputs)
        out += " " + std::string(nameOf(input.dtype)) + text(input.extents);
    out += " ->";
    for (const gpu::OperandLayout& output : program.request.outputs)
        out += " " + text(output.extents);
    return out;
}

} // namespace fuselage::gpu_zoo
