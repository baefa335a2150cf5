// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/summary.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/match_verdicts.h"
#include "core/graph/bodies.h"

#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace fuselage::app {

namespace {

double medianOf(const std::vector<double>& seconds) {
    return summarise(seconds).median;
}

/// Launches and logical bytes of the steps of a plan, by source node of the model.
struct NodeCost {
    double launches = 0;
    double bytes = 0;
};

std::string pathOf(const std::string& path, const Plan& plan, const Step& step,
                   const BodyPlan& body) {
    return bodyPath(path, plan.graph->node(step.node).name, body.attribute);
}

/// Calls visit(step, path, times) for the plan's steps and those of its bodies; `times`: how often
/// one run of the plan counts the step.
template <typename Visit>
void forEachStep(const Plan& plan, const std::string& path, Visit visit, double times = 1) {
    for (const Step& step : plan.steps) {
        visit(step, path, plan.isOnce(step) ? 0 : times);
        for (const BodyPlan& body : step.bodies)
            if (body.plan)
                forEachStep(*body.plan, pathOf(path, plan, step, body), visit, times * body.times);
    }
}

std::unordered_map<std::string, NodeCost> costBySource(const Plan& plan) {
    std::unordered_map<std::string, NodeCost> out;
    out.reserve(plan.steps.size());
    forEachStep(plan, "", [&](const Step& step, const std::string& path, double times) {
        for (const std::string& source : step.sources) {
            NodeCost& cost = path.empty() ? out[source] : out[path + source];
            cost.launches += times;
            cost.bytes += times * static_cast<double>(step.traffic.logical());
        }
    });
    return out;
}

/// The plans of all bodies by path.
void addBodyPlans(const Plan& plan, const std::string& path,
                  std::map<std::string, const BodyPlan*>& out) {
    for (const Step& step : plan.steps)
        for (const BodyPlan& body : step.bodies) {
            const std::string inner = pathOf(path, plan, step, body);
            out[inner] = &body;
            if (body.plan)
                addBodyPlans(*body.plan, inner, out);
        }
}

void putPath(const std::string& path, std::vector<std::string>& names) {
    for (std::string& name : names)
        name = path + name;
}

/// Times of one side, medians and shares of its kernels.
void addTimes(const MeasuredSide& side, SideReport& report) {
    report.measured = summarise(side.totals);
    report.measured->kept = side.totals;
    std::vector<KernelReport>& kernels = report.kernels;
    double total = 0;
    for (const auto& seconds : side.stepSeconds)
        total += medianOf(seconds);
    for (size_t i = 0; i < kernels.size() && i < side.stepSeconds.size(); ++i) {
        double seconds = medianOf(side.stepSeconds[i]);
        kernels[i].measuredSeconds = seconds;
        kernels[i].share = total > 0 ? seconds / total : 0;
        kernels[i].inSitu = summarise(side.stepSeconds[i]);
        if (i < side.isolated.size() && side.isolated[i]) {
            kernels[i].cold = summarise(side.isolated[i]->cold);
            kernels[i].warm = summarise(side.isolated[i]->warm);
        }
    }
}

int64_t bodyFlops(const Step& step) {
    double sum = 0;
    for (const BodyPlan& body : step.bodies)
        sum += body.plan ? body.times * static_cast<double>(body.plan->totalFlops()) : 0;
    return static_cast<int64_t>(std::min(sum, 9e18));
}

/// In plan order, without tactics.
std::vector<KernelReport> kernelsOf(const Plan& plan) {
    double total = plan.totalPredicted().seconds;
    std::vector<KernelReport> out;
    out.reserve(plan.steps.size());
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        const Step& step = plan.steps[i];
        KernelReport& kernel = out.emplace_back();
        kernel.name = step.name;
        kernel.kind = nameOf(kindOf(step.program));
        kernel.rule = step.rule;
        kernel.node = plan.graph->node(step.node).name;
        kernel.sources = step.sources;
        kernel.recomputed = step.recomputed;
        kernel.numeric = nameOf(step.numeric);
        kernel.allowed = nameOf(step.allowed);
        kernel.traffic = step.traffic;
        kernel.hidden.launches = plan.isOnce(step) ? 0 : 1;
        kernel.flops = plan.isOnce(step)     ? 0
                       : step.bodies.empty() ? workOf(step.program).flops
                                             : bodyFlops(step);
        kernel.predictedSeconds = step.predicted.seconds;
        kernel.limiter = step.predicted.limiter;
        kernel.share = total > 0 ? step.predicted.seconds / total : 0;
        kernel.rooflineSeconds = std::max(step.predicted.dram, step.predicted.matrix);
    }
    return out;
}

} // namespace

namespace {

BodyReport bodyReportOf(const BodyPlace& place, const BodyPlan* body, const std::string& absent) {
    BodyReport out;
    out.path = place.path;
    out.nodes = place.graph->nodeCount();
    out.graph = summariseGraph(*place.graph);
    for (GraphNodeReport& node : out.graph.nodes) {
        node.name = place.path + node.name;
        putPath(place.path, node.sources);
    }
    for (GraphValueReport& value : out.graph.values)
        value.name = place.path + value.name;
    if (!body)
        out.whyNot = absent;
    else if (!body->plan)
        out.whyNot = "not planned before a run: " + body->whyNot;
    if (!body || !body->plan)
        return out;
    const Plan& plan = *body->plan;
    out.planned = true;
    out.times = body->times;
    out.launches = plan.totalLaunches();
    out.traffic = plan.totalTraffic();
    out.predictedSeconds = plan.totalPredicted().seconds;
    out.kernels = kernelsOf(plan);
    for (KernelReport& kernel : out.kernels) {
        kernel.name = place.path + kernel.name;
        kernel.node = place.path + kernel.node;
        putPath(place.path, kernel.sources);
        putPath(place.path, kernel.recomputed);
    }
    return out;
}

std::vector<BodyReport> summariseBodies(const Planned& side) {
    std::map<std::string, const BodyPlan*> plans;
    addBodyPlans(*side.plan, "", plans);
    const bool chosen = bodiesOf(*side.plan->graph).empty();
    const std::string absent =
        chosen
            ? "the plan is for the data of a run, which chose the branch: it is among the kernels"
            : "the reference functions run it";
    std::vector<BodyReport> out;
    for (const BodyPlace& place : bodiesOf(*side.graph)) {
        const auto plan = plans.find(place.path);
        out.push_back(bodyReportOf(place, plan == plans.end() ? nullptr : plan->second, absent));
    }
    return out;
}

/// Of products in this precision, and of everything else where that is more.
double peakOf(const DeviceProfile& profile, Precision precision) {
    const double products = precision == Precision::Fp32   ? profile.fp32Flops
                            : precision == Precision::Tf32 ? profile.tf32MatrixFlops
                                                           : profile.fp16MatrixFlops;
    return std::max(products, profile.fp32Flops);
}

} // namespace

MachineReport summariseProfile(const DeviceProfile& profile, Precision precision) {
    MachineReport out;
    out.profile = profile.name;
    out.profileTitle = profile.title;
    out.profileOrigin = profile.origin;
    out.dramBandwidth = profile.dramBandwidth;
    out.l2Bandwidth = profile.l2Bandwidth;
    out.peakFlops = peakOf(profile, precision);
    return out;
}

ModelReport summariseModel(const LoadedModel& model, const std::map<std::string, int64_t>& dims) {
    ModelReport out;
    out.path = model.path;
    out.name = model.graph.name();
    out.nodes = countNodes(model.graph);
    out.dims = dims;
    out.notes = model.notes;
    auto line = [&](ValueId id) {
        const Value& value = model.graph.value(id);
        return value.name + ": " + value.type.text();
    };
    for (ValueId id : model.graph.inputs())
        out.inputs.push_back(line(id));
    for (ValueId id : model.graph.outputs())
        out.outputs.push_back(line(id));
    return out;
}

PrecisionReport summarisePrecision(const PrecisionRecord& record) {
    PrecisionReport out;
    out.name = nameOf(record.precision);
    out.narrowed = record.narrowed;
    out.casts = record.casts;
    out.weightBytesBefore = record.weightBytesBefore;
    out.weightBytesAfter = record.weightBytesAfter;
    for (const KeptNode& kept : record.kept)
        out.kept.push_back({kept.node, kept.reason});
    return out;
}

SideReport summariseSide(const Planned& side) {
    return summariseSide(side, summariseGraph(*side.graph));
}

SideReport summariseSide(const Planned& side, GraphReport graph) {
    const Plan& plan = *side.plan;
    SideReport out;
    out.nodes = plan.graph->nodeCount();
    out.bodies = summariseBodies(side);
    for (const BodyReport& body : out.bodies)
        out.nodes += body.nodes;
    out.launches = static_cast<size_t>(plan.totalLaunches());
    out.traffic = plan.totalTraffic();
    out.peakBytes = plan.peakBytes;
    out.constantBytes = plan.constantBytes;
    out.intermediateBuffers = static_cast<int64_t>(memoryOperations(plan).intermediateBuffers);
    out.flops = plan.totalFlops();
    out.predictedSeconds = plan.totalPredicted().seconds;
    out.kernels = kernelsOf(plan);
    out.graph = std::move(graph);
    return out;
}

namespace {

/// With the class of the way that was chosen, where the plan promises a better one: plans are the
/// same in every run, choices are measured.
std::string tacticOf(const Executable& executable, size_t step, const std::string& planned) {
    const NumericClass way = executable.numeric(step);
    for (NumericClass better :
         {NumericClass::Exact, NumericClass::Wider, NumericClass::Reassociated})
        if (better < way && planned == nameOf(better))
            return executable.tactic(step) + ", " + nameOf(way);
    return executable.tactic(step);
}

} // namespace

void addTactics(const Executable& executable, std::vector<KernelReport>& kernels) {
    for (size_t i = 0; i < kernels.size(); ++i) {
        kernels[i].tactic = tacticOf(executable, i, kernels[i].numeric);
        kernels[i].fallbacks = executable.fallbacks(i);
        kernels[i].isFallback = executable.isFallback(i);
        kernels[i].hidden = executable.hiddenWork(i);
        kernels[i].facts = executable.kernelFacts(i);
    }
}

std::vector<RuleReport> summariseRules(const RuleSet& rules, const Graph& fused, const Trace& trace,
                                       const Plan& before, const Plan& after) {
    const std::unordered_map<std::string, NodeCost> unfused = costBySource(before);
    std::unordered_map<std::string, NodeCost> savedBy; // of each rule
    std::unordered_map<std::string, std::unordered_set<std::string>> seen;
    const auto addSources = [&](const Graph& graph, const std::string& path) {
        for (NodeId id : graph.nodes()) {
            const Node& node = graph.node(id);
            if (node.op != Op::Fused)
                continue;
            NodeCost& saved = savedBy[node.provenance.rule];
            auto& counted = seen[node.provenance.rule];
            for (const std::string& source : node.provenance.sources) {
                const auto [at, isNew] = counted.insert(path.empty() ? source : path + source);
                const auto cost = isNew ? unfused.find(*at) : unfused.end();
                if (cost == unfused.end())
                    continue;
                saved.launches += cost->second.launches;
                saved.bytes += cost->second.bytes;
            }
        }
    };
    addSources(fused, "");
    for (const BodyPlace& body : bodiesOf(fused))
        addSources(*body.graph, body.path);
    forEachStep(after, "", [&](const Step& step, const std::string&, double times) {
        if (step.rule.empty())
            return;
        NodeCost& saved = savedBy[step.rule];
        saved.launches -= times;
        saved.bytes -= times * static_cast<double>(step.traffic.logical());
    });
    std::unordered_map<std::string, size_t> nearMisses;
    for (const NearMiss& miss : trace.nearMisses)
        ++nearMisses[miss.rule];
    std::vector<RuleReport> out;
    for (const Rule& rule : rules.rules) {
        RuleReport count{
            rule.name, rule.file, rule.line, trace.applied(rule.name), nearMisses[rule.name],
            0,         0,         rule.hints};
        if (count.fused == 0)
            continue;
        const NodeCost& saved = savedBy[rule.name];
        if (!rule.isRewrite) {
            count.launchesSaved = std::llround(saved.launches);
            count.bytesSaved = std::llround(saved.bytes);
        }
        out.push_back(count);
    }
    return out;
}

std::vector<SplitReport> summariseSplits(const Plan& plan) {
    std::vector<SplitReport> out;
    for (const SplitRecord& split : plan.splits)
        out.push_back({split.node, split.rule, split.reason, split.parts, split.isCut, split.cut,
                       split.seconds, split.wholeSeconds});
    return out;
}

std::vector<SweepReport> summariseSweeps(const Plan& plan) {
    std::vector<SweepReport> out;
    for (const SweepRecord& record : plan.sweepOffers)
        out.push_back(
            {record.first, record.last, record.images, record.passes, record.reason, record.taken});
    return out;
}

std::vector<RecomputeReport> summariseRecomputes(const Plan& plan) {
    std::vector<RecomputeReport> out;
    for (const RecomputeRecord& record : plan.recomputes)
        out.push_back({record.node, record.nodes, record.readers, record.bytesSaved, record.reason,
                       record.taken});
    return out;
}

std::vector<GroupReport> summariseGroups(const Plan& plan) {
    std::vector<GroupReport> out;
    for (const GroupRecord& group : plan.groups)
        out.push_back({group.members, group.reason, group.taken});
    return out;
}

std::vector<LayoutReport> summariseLayouts(const Plan& plan) {
    std::vector<LayoutReport> out;
    for (const LayoutRecord& record : plan.layouts)
        out.push_back({record.values, record.order, record.rejected, record.reason});
    return out;
}

void addMeasurements(const Measured& measured, Report& report) {
    addTimes(measured.before, report.before);
    addTimes(measured.after, report.after);
    report.machine.stepTiming = measured.after.stepNote;
    report.machine.othersBusy = measured.othersBusy;
    report.ratio = compareTimings(measured.before.totals, measured.after.totals);
    report.timingNotes.insert(report.timingNotes.end(), measured.notes.begin(),
                              measured.notes.end());
    judgeMatches(measured, report);
}

} // namespace fuselage::app
