// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/gain.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/model.h"
#include "app/pipeline/planned.h"
#include "core/cost/decision.h"
#include "core/cost/resources.h"
#include "core/graph/subgraph.h"
#include "core/kernel/lower_cache.h"
#include "core/passes/passes.h"
#include "core/plan/constant_steps.h"
#include "core/plan/make_plan.h"
#include "core/rewrite/match_cache.h"
#include "core/support/hash.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>

namespace fuselage::app {

namespace {

struct Cost {
    double seconds = 0, error = 0, bytes = 0, launches = 0, flops = 0, peak = 0;
    std::optional<double> registers, sharedBytes; ///< the most that a kernel needs, on a GPU
    std::optional<Reason> split;                  ///< why a fused node is more than one kernel
};

/// The match's nodes as a graph of their own with static shapes: its outputs are those of the
/// match, then what readers outside want of nodes that stay for them.
struct Affected {
    Graph body;
    std::vector<ValueId> outputs;      ///< of the body: those of the match
    std::set<std::string> fixedInputs; ///< of PlanOptions
};

/// Values of the nodes that stay, for readers outside.
std::vector<ValueId> keptValues(const Graph& graph, const Match& match) {
    std::vector<ValueId> out;
    for (NodeId node : match.kept)
        for (ValueId value : graph.node(node).outputs) {
            if (!value.valid() ||
                std::find(match.outputs.begin(), match.outputs.end(), value) != match.outputs.end())
                continue;
            const std::vector<Use>& uses = graph.value(value).uses;
            if (graph.isGraphOutput(value) ||
                std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
                    return std::find(match.nodes.begin(), match.nodes.end(), use.node) ==
                           match.nodes.end();
                }))
                out.push_back(value);
        }
    return out;
}

Affected affectedBy(const Graph& graph, const Match& match,
                    const std::map<std::string, int64_t>& dims) {
    std::vector<ValueId> outputs = match.outputs;
    const std::vector<ValueId> kept = keptValues(graph, match);
    outputs.insert(outputs.end(), kept.begin(), kept.end());
    Cut cut = cutOut(graph, match.nodes, outputs);
    Affected out{std::move(cut.body), {}, {}};
    for (size_t i = cut.inputs.size(); i-- > 0;) {
        const TensorPtr& constant = graph.value(cut.inputs[i]).constant;
        if (!constant && planner::isFixedNearby(graph, cut.inputs[i]))
            out.fixedInputs.insert(out.body.value(out.body.inputs()[i]).name);
        if (!constant)
            continue;
        const ValueId input = out.body.inputs()[i];
        const ValueId bound =
            out.body.addConstant(out.body.freshName(out.body.value(input).name), constant);
        out.body.replaceUses(input, bound);
        out.body.removeInput(i);
    }
    bindAllDimensions(out.body, dims);
    out.outputs.assign(out.body.outputs().begin(),
                       out.body.outputs().begin() +
                           static_cast<std::ptrdiff_t>(match.outputs.size()));
    return out;
}

/// A caller gives and gets all of a graph of few nodes: it is planned whole, since nobody else says
/// in which order of memory its values lie. A rewrite names its values anew.
bool isPlannedWhole(const Graph& graph, const Match& match) {
    constexpr size_t mostNodes = 8;
    return graph.nodeCount() <= mostNodes && !match.rule->isRewrite;
}

GainSides wholeSides(const Graph& graph, const Match& match,
                     const std::map<std::string, int64_t>& dims) {
    Graph before = graph.clone();
    bindAllDimensions(before, dims);
    auto fused = std::make_shared<Graph>(before.clone());
    Provenance provenance;
    provenance.rule = match.rule->name;
    replaceByFused(*fused, match.nodes, cutOut(*fused, match.nodes, match.outputs), "match",
                   provenance);
    return {std::make_shared<const Graph>(std::move(before)), std::move(fused)};
}

/// Number of a text of a rule, of rules that rewrite: what they make, the key of a match has to
/// say.
class RuleTexts {
public:
    uint64_t of(const Rule& rule) {
        if (!rule.isRewrite)
            return 0;
        auto [known, isNew] = m_known.try_emplace(&rule, 0);
        if (isNew)
            known->second = Hasher().text(wholeKey(rule)).value();
        return known->second;
    }

private:
    std::unordered_map<const Rule*, uint64_t> m_known;
};

/// What the gain of a match can depend on, without names: equal texts, equal gains. None when it
/// holds subgraphs or fused nodes.
std::optional<std::string> keyOf(const Graph& graph, const Match& match, uint64_t ruleText) {
    BodyKey key;
    key.add(static_cast<uint64_t>(match.rule->numeric));
    key.add(ruleText);
    for (NodeId kept : match.kept)
        key.add(static_cast<uint64_t>(std::find(match.nodes.begin(), match.nodes.end(), kept) -
                                      match.nodes.begin()));
    // Bodies are cut in the order of structure and names.
    std::vector<uint32_t> byName(match.nodes.size());
    for (uint32_t i = 0; i < byName.size(); ++i)
        byName[i] = i;
    std::sort(byName.begin(), byName.end(), [&](uint32_t a, uint32_t b) {
        return graph.node(match.nodes[a]).name < graph.node(match.nodes[b]).name;
    });
    for (uint32_t i : byName)
        key.add(uint64_t{i});
    std::unordered_map<ValueId, uint64_t> numbers;
    auto addValue = [&](ValueId id) {
        auto [known, isNew] = numbers.try_emplace(id, numbers.size());
        key.add(known->second);
        if (!isNew || !id.valid())
            return;
        const Value& value = graph.value(id);
        key.add(value.type);
        key.add(uint64_t{value.constant != nullptr});
        if (value.constant)
            key.add(*value.constant);
        key.add(uint64_t{planner::isFixedNearby(graph, id)});
        key.add(value.symbolicContents ? text(*value.symbolicContents) : std::string());
    };
    for (NodeId id : match.nodes) {
        const Node& node = graph.node(id);
        key.addOperator(node);
        key.add(node.inputs.size());
        for (ValueId input : node.inputs)
            addValue(input);
        key.add(node.outputs.size());
        for (ValueId output : node.outputs)
            addValue(output);
    }
    for (ValueId output : match.outputs)
        addValue(output);
    // A rewrite makes what its rule says, of the values that its names stand for.
    std::function<void(std::span<const Binding>)> addBindings =
        [&](std::span<const Binding> bindings) {
            key.add(bindings.size());
            for (const Binding& binding : bindings) {
                key.add(static_cast<uint64_t>(binding.kind));
                if (binding.kind == Binding::Kind::Value)
                    addValue(binding.value);
                addBindings(binding.items);
            }
        };
    if (match.rule->isRewrite)
        addBindings(match.slots);
    return key.isOpaque() ? std::nullopt : std::optional(key.take());
}

/// What a graph costs as the planner runs it: fused nodes in one kernel or in the cheapest parts.
Result<Cost> planned(std::shared_ptr<const Graph> graph, const PlanOptions& options) {
    Progress quiet;
    auto plan = makePlan(std::move(graph), options, quiet);
    if (!plan)
        return failure(plan.error());
    Cost out;
    const TimeEstimate predicted = (*plan)->totalPredicted();
    out.seconds = predicted.seconds;
    out.error = (predicted.high - predicted.low) / 2;
    out.bytes = static_cast<double>((*plan)->totalTraffic().logical());
    out.peak = static_cast<double>((*plan)->peakBytes);
    for (const Step& step : (*plan)->steps) {
        if ((*plan)->isOnce(step))
            continue;
        ++out.launches;
        out.flops += static_cast<double>(workOf(step.program).flops);
        if (options.profile->kind != DeviceKind::Gpu)
            continue;
        const KernelResources needs = predictResources(step.program, *options.profile);
        auto most = [](std::optional<double>& of, double need) {
            of = std::max(of.value_or(0), need);
        };
        most(out.registers, needs.registers);
        most(out.sharedBytes, static_cast<double>(needs.sharedBytes));
    }
    if (!(*plan)->splits.empty() && (*plan)->splits[0].isCut)
        out.split = (*plan)->splits[0].reason;
    return out;
}

Gain difference(const Cost& before, const Cost& after) {
    Gain gain;
    gain.us = (before.seconds - after.seconds) * 1e6;
    gain.error = std::max(before.error, after.error) * 1e6;
    gain.bytes = before.bytes - after.bytes;
    gain.launches = before.launches - after.launches;
    gain.flops = before.flops - after.flops;
    gain.peakBytes = before.peak - after.peak;
    gain.registers = after.registers;
    gain.sharedBytes = after.sharedBytes;
    return gain;
}

Gain refused(Reason why) {
    Gain gain;
    gain.refusal = std::move(why);
    return gain;
}

/// The parts that a rewrite cuts a value into are seen by readers outside as they lie: they cost no
/// copy, as they would where a caller gets them.
std::shared_ptr<const Graph> withoutLastSplits(const Graph& graph) {
    auto out = std::make_shared<Graph>(graph.clone());
    for (size_t i = 0; i < out->outputs().size(); ++i) {
        const NodeId maker = out->producer(out->outputs()[i]);
        if (maker.valid() && out->node(maker).op == Op::Split &&
            out->producer(out->node(maker).inputs[0]).valid())
            out->setOutput(i, out->node(maker).inputs[0]);
    }
    out->removeDead();
    return out;
}

/// What other operators read through: who reads the result reads the operand as well.
bool isRenaming(Op op) {
    return op == Op::Reshape || op == Op::Flatten || op == Op::Squeeze || op == Op::Unsqueeze ||
           op == Op::Identity;
}

/// Of one side of a rewrite, without a copy for what only has another shape at its end: as one
/// kernel or in parts, whichever is cheaper, since fuse rules come after it.
Result<Cost> plannedToFuse(const Graph& side, const PlanOptions& options) {
    Graph graph = side.clone();
    for (size_t i = 0; i < graph.outputs().size(); ++i)
        for (NodeId maker = graph.producer(graph.outputs()[i]);
             maker.valid() && isRenaming(graph.node(maker).op);
             maker = graph.producer(graph.outputs()[i]))
            graph.setOutput(i, graph.node(maker).inputs[0]);
    graph.removeDead();
    if (graph.nodeCount() == 0)
        return Cost();
    auto apart = planned(std::make_shared<const Graph>(graph.clone()), options);
    if (!apart || graph.nodeCount() == 1)
        return apart;
    auto whole = planned(std::make_shared<const Graph>(fuseWhole(graph, "match")), options);
    return whole && whole->seconds < apart->seconds ? whole : apart;
}

/// A rewrite gives what is computed another name: it is refused where staying is clearly cheaper.
/// Nobody can say so of what has no plan, since it has sizes behind an unknown operator, nor of an
/// operator that runs by the rewrite alone.
Gain gainOfRewrite(const GainSides& sides, const PlanOptions& options) {
    auto without = plannedToFuse(*withoutLastSplits(*sides.before), options);
    if (!without ||
        (!missingOperators(*sides.before).empty() && missingOperators(*sides.after).empty())) {
        Gain gain;
        gain.preferred = true;
        return gain;
    }
    auto with = plannedToFuse(*withoutLastSplits(*sides.after), options);
    if (!with)
        return refused({with.error().code, with.error().message, {}, {}});
    Gain gain = difference(*without, *with);
    gain.preferred = !preferred({with->seconds, without->seconds}, least_share::name);
    return gain;
}

/// The plan of the match's nodes against that of what the rule puts in their place.
Gain gainBetween(const GainSides& sides, const PlanOptions& options) {
    auto without = planned(withoutLastSplits(*sides.before), options);
    if (!without)
        return refused({without.error().code, without.error().message, {}, {}});
    auto with = planned(withoutLastSplits(*sides.after), options);
    if (!with)
        return refused({with.error().code, with.error().message, {}, {}});
    Gain gain = difference(*without, *with);
    gain.refusal = std::move(with->split);
    return gain;
}

std::variant<GainSides, Reason> sidesOf(const Graph& graph, const Match& match,
                                        const std::map<std::string, int64_t>& dims) {
    Affected affected = affectedBy(graph, match, dims);
    if (match.rule->isRewrite) {
        auto replacement = replacementOf(graph, match, inferShapes);
        if (auto* problem = std::get_if<NotApplied>(&replacement))
            return std::move(problem->reason);
        auto after = std::make_shared<Graph>(std::get<Graph>(std::move(replacement)));
        bindAllDimensions(*after, dims);
        return GainSides{std::make_shared<const Graph>(std::move(affected.body)), std::move(after)};
    }
    auto fused = std::make_shared<Graph>(affected.body.clone());
    const std::vector<NodeId> nodes = topologicalOrder(*fused);
    Provenance provenance;
    provenance.rule = match.rule->name; // says what class a plan may give it
    replaceByFused(*fused, nodes, cutOut(*fused, nodes, affected.outputs), "match", provenance);
    return GainSides{std::make_shared<const Graph>(std::move(affected.body)), std::move(fused),
                     std::move(affected.fixedInputs)};
}

/// Which matches are timed.
enum class Timed : uint8_t { None, Close, All };

/// How the forms of matches are planned.
struct Pricing {
    PlanOptions options; ///< with no rule's class: a plan keeps its options, and rules are many
    std::map<std::string, NumericClass> allowed; ///< by rule

    /// Steps around a match that is planned `alone` choose its layouts with it.
    PlanOptions of(const GainSides& sides, bool alone) const {
        PlanOptions out = options;
        out.fixedInputs = sides.fixedInputs;
        if (alone)
            out.backend = nullptr;
        for (NodeId node : sides.after->nodes())
            if (auto found = allowed.find(sides.after->node(node).provenance.rule);
                found != allowed.end())
                out.allowed.insert(*found);
        return out;
    }
};

/// Predicted; measured where that is asked for. Graphs of rewrites name their inputs in orders of
/// their own, so that only fused nodes are measured.
Gain gainOf(const Graph& graph, const Match& match, const Pricing& pricing,
            const std::map<std::string, int64_t>& dims, const std::optional<std::string>& key,
            const GainMeasurer& measurer, Timed timed) {
    auto sides = sidesOf(graph, match, dims);
    if (auto* reason = std::get_if<Reason>(&sides))
        return refused(std::move(*reason));
    const PlanOptions alone = pricing.of(std::get<GainSides>(sides), true);
    if (isPriced(*match.rule) && match.rule->isRewrite)
        return gainOfRewrite(std::get<GainSides>(sides), alone);
    Gain gain;
    const bool whole = pricing.options.backend && isPlannedWhole(graph, match);
    if (whole) {
        const GainSides all = wholeSides(graph, match, dims);
        gain = gainBetween(all, pricing.of(all, false));
    }
    if (!whole || gain.refusal)
        gain = gainBetween(std::get<GainSides>(sides), alone);
    const bool isClose = match.nodes.size() > 1 && std::abs(gain.us) <= gain.error;
    // Timed by itself, what is fixed in the model would vary.
    const bool mayMeasure =
        !match.rule->isRewrite && std::get<GainSides>(sides).fixedInputs.empty();
    if (timed == Timed::None || (timed == Timed::Close && !isClose) || !key || !mayMeasure)
        return gain;
    if (auto measured = measurer(*key, std::get<GainSides>(sides))) {
        gain.us = measured->seconds * 1e6;
        gain.error = measured->error * 1e6;
        gain.isMeasured = true;
    }
    return gain;
}

/// By the comparison that the planner makes too, of the time that is saved.
Gain judged(Gain gain) {
    if (!gain.preferred)
        gain.preferred = preferred({gain.us, 0, gain.error, gain.bytes}, least_share::any);
    return gain;
}

GainFunction makeGain(const DeviceProfile& profile, std::map<std::string, int64_t> dims,
                      const MatchPlanning& planning, GainMeasurer measurer, Timed timed,
                      std::shared_ptr<KnownGains> known) {
    std::shared_ptr<const Backend> backend;
    if (profile.kind == DeviceKind::Cpu)
        backend = makeCpuBackend({.threads = 1, .strict = planning.strict});
    Pricing pricing{
        planOptions(Form::Fused, {&profile, backend.get(), planning.precision, planning.strict}),
        planning.allowed};
    pricing.options.recompute = pricing.options.groupSmall = false;
    auto texts = std::make_shared<RuleTexts>();
    return [backend = std::move(backend), pricing = std::move(pricing), dims = std::move(dims),
            measurer = std::move(measurer), timed, texts,
            known](const Graph& graph, const Match& match) {
        std::optional<std::string> key = keyOf(graph, match, texts->of(*match.rule));
        const bool isKept = key && !isPlannedWhole(graph, match);
        if (isKept)
            if (auto found = known->find(*key); found != known->end())
                return found->second;
        Gain gain = judged(gainOf(graph, match, pricing, dims, key, measurer, timed));
        if (isKept && !gain.refusal) // a refusal names nodes
            known->emplace(std::move(*key), gain);
        return gain;
    };
}

DeviceFigures figuresOf(const DeviceProfile& profile) {
    DeviceFigures out;
    out.kind = nameOf(profile.kind);
    out.arch = profile.arch;
    out.units = profile.units;
    out.lanesPerUnit = profile.lanesPerUnit;
    out.clock = profile.clock;
    out.dramBandwidth = profile.dramBandwidth;
    out.l2Bandwidth = profile.l2Bandwidth;
    out.l2Bytes = profile.l2Bytes;
    out.fp32Flops = profile.fp32Flops;
    out.fp16MatrixFlops = profile.fp16MatrixFlops;
    out.tf32MatrixFlops = profile.tf32MatrixFlops;
    out.launchSeconds = profile.launchSeconds;
    out.sharedBytesPerUnit = profile.sharedBytesPerUnit;
    out.registersPerUnit = profile.registersPerUnit;
    out.threadsPerUnit = profile.threadsPerUnit;
    return out;
}

} // namespace

EngineOptions engineOptions(const DeviceProfile& profile, std::map<std::string, int64_t> dims,
                            const MatchPlanning& planning, GainMeasuring measuring,
                            std::shared_ptr<KnownGains> known) {
    EngineOptions out;
    if (!known)
        known = std::make_shared<KnownGains>();
    if (measuring.measurer)
        out.measuredGain = makeGain(profile, dims, planning, measuring.measurer, Timed::All,
                                    std::make_shared<KnownGains>());
    out.gain = makeGain(profile, std::move(dims), planning, std::move(measuring.measurer),
                        measuring.whereClose ? Timed::Close : Timed::None, std::move(known));
    out.device = figuresOf(profile);
    return out;
}

} // namespace fuselage::app
