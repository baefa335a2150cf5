// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_zoo/zoo_programs.h"

#include "app/pipeline/analysis.h"
#include "app/pipeline/rules.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>

namespace fuselage::gpu_zoo {

namespace {

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

/// Where a plan comes from.
struct Origin {
    const std::string& model;
    const std::string& arch;
    bool fused = false;
};

ZooProgram programOf(const Origin& origin, const std::shared_ptr<const Plan>& plan,
                     const Step& step, bool channelsLast) {
    ZooProgram made{origin.model, origin.arch, step.name, origin.fused, channelsLast, plan, {}};
    made.request.program = &step.program;
    made.request.profile = &profileFor(origin.arch);
    made.request.capability = gpu::capabilityOf(origin.arch);
    for (uint32_t input : step.inputs) {
        const PlanValue& value = plan->values[input];
        made.request.inputs.push_back(layoutOf(*plan, input));
        made.request.constants.push_back(value.constant);
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

void append(std::vector<ZooProgram>& out, const Origin& origin,
            const std::shared_ptr<const Plan>& plan) {
    bool pictures = false;
    for (const Step& step : plan->steps)
        if (const auto* code = std::get_if<Contraction>(&step.program.code))
            pictures = pictures || code->kind == Contraction::Kind::Conv;
    for (const Step& step : plan->steps) {
        out.push_back(programOf(origin, plan, step, false));
        bool four = false;
        for (uint32_t output : step.outputs)
            four = four || plan->values[output].extents.size() == 4;
        if (pictures && four)
            out.push_back(programOf(origin, plan, step, true));
    }
}

} // namespace

const DeviceProfile& profileFor(const std::string& arch) {
    static const std::map<std::string, DeviceProfile> profiles = [] {
        std::map<std::string, DeviceProfile> out;
        for (const char* name : {"t4", "a100", "a10", "l4", "h200", "b200", "rtx5090"}) {
            const DeviceProfile profile = *deviceProfile(name);
            out.emplace(profile.arch, profile);
        }
        return out;
    }();
    return profiles.at(arch);
}

std::vector<std::string> architectures() {
    return {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
}

std::optional<app::LoadedModel> prepared(const std::string& model) {
    app::LoadedModel loaded;
    auto graph = zoo::build(model);
    Progress progress;
    if (graph) {
        loaded.graph = std::move(*graph);
        if (auto ready = prepareGraph(loaded.graph, progress); !ready)
            graph = failure(ready.error());
    }
    if (graph)
        return loaded;
    std::fprintf(stderr, "%s: %s\n", model.c_str(), graph.error().text().c_str());
    return std::nullopt;
}

std::vector<ZooProgram> programsOf(const std::string& model, const app::LoadedModel& loaded,
                                   Precision precision, const std::string& arch) {
    std::vector<ZooProgram> out;
    app::AnalysisOptions options;
    options.profile = profileFor(arch);
    options.fuse.device = options.profile;
    options.fuse.precision = precision;
    options.fuse.dims = {{"S", 7}, {"P", 5}};
    Progress progress;
    auto analysis = app::analyse(loaded, rules(), options, progress);
    if (!analysis) {
        std::fprintf(stderr, "%s: %s\n", model.c_str(), analysis.error().text().c_str());
        return out;
    }
    append(out, {model, arch, false}, analysis->before.plan);
    append(out, {model, arch, true}, analysis->after.plan);
    return out;
}

std::vector<ZooProgram> programsOf(const std::string& model, Precision precision) {
    const std::optional<app::LoadedModel> loaded = prepared(model);
    return loaded ? programsOf(model, *loaded, precision, "sm_90") : std::vector<ZooProgram>();
}

std::string describe(const ZooProgram& program) {
    std::string out = program.model + (program.fused ? " fused " : " unfused ") + program.step +
                      (program.channelsLast ? " (channels last)" : "") + ": " +
                      nameOf(kindOf(*program.request.program));
    for (const gpu::OperandLayout& input : program.request.inputs)
        out += " " + std::string(nameOf(input.dtype)) + text(input.extents);
    out += " ->";
    for (const gpu::OperandLayout& output : program.request.outputs)
        out += " " + text(output.extents);
    return out;
}

} // namespace fuselage::gpu_zoo
