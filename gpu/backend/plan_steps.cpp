// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/plan_steps.h"

#include "core/support/parallel.h"
#include "gpu/backend/busy_share.h"
#include "gpu/backend/chain_apart.h"
#include "gpu/backend/device_measurer.h"
#include "gpu/backend/plan_memory.h"
#include "gpu/tune/tune_steps.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

void move(TacticList from, TacticList& to) {
    for (auto& candidate : from.candidates)
        to.candidates.push_back(std::move(candidate));
    for (Reason& reason : from.refused)
        to.refused.push_back(std::move(reason));
}

TacticList candidatesOf(const KernelRequest& request, const StepContext& context) {
    TacticList out;
    for (const auto& source : context.sources)
        move(source->candidates(request), out);
    out.refused.insert(out.refused.end(), context.missing.begin(), context.missing.end());
    return out;
}

/// What computes a member of a chain.
std::vector<std::unique_ptr<Tactic>> candidatesOfMember(const KernelRequest& request,
                                                        const StepContext& context) {
    TacticList out;
    for (const auto& source : context.sources)
        if (!source->isLastResort())
            move(source->candidates(request), out);
    return std::move(out.candidates);
}

} // namespace

TuneEnvironment environmentOf(const StepContext& context) {
    const DeviceFacts& facts = context.device.facts();
    TuneEnvironment out;
    out.device = facts.name;
    out.multiprocessors = static_cast<uint32_t>(facts.multiprocessors);
    out.versions["driver"] = facts.driverVersion;
    for (const auto& source : context.sources)
        out.versions[source->name()] = source->version();
    out.emitter = emitterVersion();
    return out;
}

namespace {

/// Of one call, where a step of constants alone has no time in a run.
TimeEstimate predictedCall(const Plan& plan, const Step& step, const DeviceProfile& profile) {
    return plan.isOnce(step)
               ? predictTime(step.program, predictTraffic(step.program, profile, {}), profile)
               : step.predicted;
}

/// Steps that the reference functions compute in about a tenth of a second.
bool hostMayJudge(const Step& step) {
    constexpr int64_t mostBytes = 1 << 24, mostFlops = 200'000'000;
    return logicalTraffic(step.program).logical() <= mostBytes &&
           workOf(step.program).flops <= mostFlops;
}

const char* nameOf(ChoiceBasis basis) {
    switch (basis) {
    case ChoiceBasis::Measured:
        return "measured";
    case ChoiceBasis::Cached:
        return "cached";
    case ChoiceBasis::Predicted:
        return "predicted";
    }
    return "";
}

} // namespace

KernelFacts kernelFactsOf(const TacticFacts& facts, std::string choice) {
    KernelFacts out;
    out.registers = facts.registers;
    out.sharedBytes = facts.sharedBytes;
    out.spilledBytes = facts.localBytes;
    out.launches = facts.launches;
    out.workspaceBytes = facts.workspaceBytes;
    out.choice = std::move(choice);
    out.residentBlocks = facts.residentBlocks;
    out.occupancy = facts.occupancy;
    return out;
}

HiddenWork hiddenWorkOf(const TacticFacts& facts) {
    HiddenWork out;
    out.launches = std::max<uint32_t>(facts.launches, 1);
    out.scratchBytes = facts.workspaceBytes;
    out.passedBytes = facts.passedBytes;
    out.values = facts.passedBytes > 0 ? 1 : 0;
    return out;
}

KernelRequest stepRequest(const Plan& plan, const Step& step) {
    KernelRequest out;
    out.program = &step.program;
    for (uint32_t input : step.inputs) {
        out.inputs.push_back(layoutOf(plan, input));
        out.constants.push_back(plan.values[input].constant);
    }
    for (uint32_t output : step.outputs)
        out.outputs.push_back(layoutOf(plan, output));
    return out;
}

KernelRequest requestOf(const Plan& plan, const Step& step, const RequestTarget& target) {
    KernelRequest out = stepRequest(plan, step);
    out.profile = &target.profile;
    out.strict = step.strict;
    out.tf32 = step.tf32;
    out.allowed = step.allowed;
    out.capability = capabilityOf(target.arch);
    out.workspaceLimit = target.workspaceLimit;
    return out;
}

bool onHost(const Plan& plan, const Step& step) {
    for (const auto* operands : {&step.inputs, &step.outputs})
        for (uint32_t operand : *operands)
            if (plan.values[operand].residence == Residence::Host)
                return true;
    return false;
}

Result<std::vector<PreparedStep>> prepareSteps(const Plan& plan, const StepContext& context,
                                               TuneStore& store, Progress& progress) {
    std::vector<PreparedStep> out(plan.steps.size());
    std::vector<size_t> places;
    const TuneEnvironment environment = environmentOf(context);
    const RequestTarget target{context.profile, context.device.facts().arch,
                               context.options.tune.workspaceLimit};
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        const Step& step = plan.steps[i];
        if (onHost(plan, step)) {
            out[i].reasons.push_back({"dynamic-dim", "shapes depend on data", {}, {}});
            continue;
        }
        places.push_back(i);
    }
    // At one time: cuDNN's heuristics take a tenth of a second for each graph they do not know.
    std::vector<TuneTask> tasks(places.size());
    ThreadPool threads(context.options.threads);
    threads.forRange(places.size(), 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end && !progress.cancelled(); ++i) {
            const Step& step = plan.steps[places[i]];
            const KernelRequest request = requestOf(plan, step, target);
            tasks[i] = {step.name,
                        tacticKey(request, environment, step.inPlace,
                                  readsColdWeights(plan, step, context.device.facts().l2Bytes)),
                        request.allowed,
                        predictedCall(plan, step, context.profile),
                        candidatesOf(request, context),
                        hostMayJudge(step)};
            for (const auto& candidate : tasks[i].tactics.candidates)
                tasks[i].seconds[candidate->name()] =
                    predictedRun(request, tasks[i].predicted, *candidate);
            ApartTactics apart = apartTactics(request, [&](const KernelRequest& member) {
                return candidatesOfMember(member, context);
            });
            move({std::move(apart.candidates), {}}, tasks[i].tactics);
            tasks[i].seconds.merge(apart.seconds);
        }
    });
    if (progress.cancelled())
        return cancelledFailure("tuning");
    DeviceMeasurerSource measurers(plan, places, context.device, context.compiler);
    TuneContext tuning;
    tuning.options = context.options.tune;
    tuning.device = context.options.measure ? &measurers : nullptr;
    tuning.overlap = context.profile.overlap;
    tuning.threads = context.options.threads;
    tuning.rules.deadlineSeconds = context.options.tune.deadlineSeconds;
    tuning.journal = &store.journal();
    tuning.learned = [&store] { store.learned(); };
    tuning.deviceGone = context.deviceGone;
    for (size_t i = 0; i < places.size(); ++i)
        out[places[i]].key = tasks[i].key;
    auto tuned = tuneSteps(std::move(tasks), tuning, store.cache, progress);
    if (!tuned)
        return failure(tuned.error());
    for (size_t i = 0; i < tuned->size(); ++i) {
        PreparedStep& step = out[places[i]];
        step.tactic = std::move((*tuned)[i].tactic);
        step.choice = nameOf((*tuned)[i].basis);
        step.reasons = std::move((*tuned)[i].reasons);
    }
    return out;
}

} // namespace fuselage::gpu
