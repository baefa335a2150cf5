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

/// A picture that the plan made, with its channels innermost.
void setChannelsLast(gpu::OperandLayout& layout) {
    if (layout.extents.size() != 4)
        return;
    const Extents& e = layout.extents;
    layout.strides = {e[1] * e[2] * e[3], 1, e[3] * e[1], e[1]};
}

ZooProgram programOf(const std::string& model, const std::shared_ptr<const Plan>& plan,
                     const Step& step, bool fused, bool channelsLast) {
    ZooProgram made{model, step.name, fused, channelsLast, plan, {}};
    made.request.program = &step.program;
    made.request.profile = &profile();
    for (uint32_t input : step.inputs) {
        const PlanValue& value = plan->values[input];
        made.request.inputs.push_back(layoutOf(*plan, input));
        made.request.contents.push_back(value.constant);
        made.request.constants.push_back(value.constant != nullptr);
        if (channelsLast && !value.constant)
            setChannelsLast(made.request.inputs.back());
    }
    for (uint32_t output : step.outputs) {
        made.request.outputs.push_back(layoutOf(*plan, output));
        if (channelsLast)
            setChannelsLast(made.request.outputs.back());
    }
    return made;
}

void append(std::vector<ZooProgram>& out, const std::string& model,
            const std::shared_ptr<const Plan>& plan, bool fused) {
    bool pictures = false;
    for (const Step& step : plan->steps)
        if (const auto* code = std::get_if<Contraction>(&step.program.code))
            pictures = pictures || code->kind == Contraction::Kind::Conv;
    for (const Step& step : plan->steps) {
        out.push_back(programOf(model, plan, step, fused, false));
        bool four = false;
        for (uint32_t output : step.outputs)
            four = four || plan->values[output].extents.size() == 4;
        if (pictures && four)
            out.push_back(programOf(model, plan, step, fused, true));
    }
}

} // namespace

std::vector<ZooProgram> programsOf(const std::string& model, Precision precision) {
    std::vector<ZooProgram> out;
    app::LoadedModel loaded;
    auto graph = zoo::build(model);
    Progress progress;
    if (graph) {
        loaded.graph = std::move(*graph);
        if (auto prepared = prepareGraph(loaded.graph, progress); !prepared)
            graph = failure(prepared.error());
    }
    if (!graph) {
        std::fprintf(stderr, "%s: %s\n", model.c_str(), graph.error().text().c_str());
        return out;
    }
    app::AnalysisOptions options;
    options.profile = profile();
    options.fuse.precision = precision;
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
                      (program.channelsLast ? " (channels last)" : "") + ": " +
                      kindOf(*program.request.program);
    for (const gpu::OperandLayout& input : program.request.inputs)
        out += " " + std::string(nameOf(input.dtype)) + text(input.extents);
    out += " ->";
    for (const gpu::OperandLayout& output : program.request.outputs)
        out += " " + text(output.extents);
    return out;
}

} // namespace fuselage::gpu_zoo
