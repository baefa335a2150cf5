// SPDX-License-Identifier: Apache-2.0
// The fields of a Report in JSON, each named once for writing and reading. `results...` are
// equal in every run with the same profile; `timings...` depend on the machine and the moment.
#pragma once

#include "app/pipeline/report.h"
#include "app/report/json_archive_internal.h"
#include "app/report/json_decisions_internal.h"

namespace fuselage::app {

constexpr std::pair<StepReport::Kind, const char*> stepKinds[] = {
    {StepReport::Kind::Fused, "fused"},
    {StepReport::Kind::Rewritten, "rewritten"},
    {StepReport::Kind::Refused, "refused"},
    {StepReport::Kind::Stopped, "stopped"}};

inline const char* nameOf(StepReport::Kind kind) {
    return stepKinds[static_cast<size_t>(kind)].second;
}

inline bool fromName(const std::string& name, StepReport::Kind& kind) {
    for (const auto& [known, text] : stepKinds)
        if (name == text) {
            kind = known;
            return true;
        }
    return false;
}

/// Facts of a reason and bindings of a match: lists of pairs that are objects in the file.
template <typename A, typename Pair, typename Value>
void pairs(A& a, const char* key, std::vector<Pair>& items, std::string Pair::*name,
           Value Pair::*value) {
    std::map<std::string, Value> map;
    for (const Pair& item : items)
        map[item.*name] = item.*value;
    a(key, map);
    if constexpr (!A::writes) {
        items.clear();
        for (auto& [key, item] : map) {
            Pair& made = items.emplace_back();
            made.*name = key;
            made.*value = std::move(item);
        }
    }
}

template <typename A> void fields(A& a, Reason& r) {
    a("code", r.code);
    a("message", r.message);
    a("flip", r.flip);
    pairs(a, "facts", r.facts, &ReasonFact::name, &ReasonFact::value);
}

template <typename A> void fields(A& a, Traffic& t) {
    a("logical_read", t.logicalRead);
    a("logical_written", t.logicalWritten);
    a("l2_predicted", t.l2);
    a("dram_predicted", t.dram);
}

template <typename A> void fields(A& a, SideReport& s) {
    a("nodes", s.nodes);
    a("launches", s.launches);
    a.derived("logical_bytes", s.traffic.logical());
    a("traffic", s.traffic);
    a("peak_bytes", s.peakBytes);
    a("constant_bytes", s.constantBytes);
    a("intermediate_buffers", s.intermediateBuffers);
    a("flops", s.flops);
    a.derived("intensity", s.intensity());
}

template <typename A> void fields(A& a, PrecisionReport::Kept& kept) {
    a("node", kept.node);
    a("reason", kept.reason);
}

template <typename A> void fields(A& a, PrecisionReport& p) {
    a("name", p.name);
    a("narrowed", p.narrowed);
    a("casts", p.casts);
    a("weight_bytes_before", p.weightBytesBefore);
    a("weight_bytes_after", p.weightBytesAfter);
    a("kept", p.kept);
}

template <typename A> void fields(A& a, RuleReport& r) {
    a("rule", r.rule);
    a("file", r.file);
    a("line", r.line);
    a("fused", r.fused);
    a("near_misses", r.nearMisses);
    a("launches_saved", r.launchesSaved);
    a("bytes_saved", r.bytesSaved);
    a("hints", r.hints);
}

template <typename A> void resultFields(A& a, KernelReport& k) {
    a("name", k.name);
    a("program", k.kind);
    a("rule", k.rule);
    a("node", k.node);
    a("nodes", k.sources);
    if (!A::writes || !k.recomputed.empty())
        a("recomputed", k.recomputed);
    a("numeric", k.numeric);
    a("numeric_allowed", k.allowed);
    if (!A::writes || !k.textHash.empty())
        a("text_hash", k.textHash);
    a("traffic", k.traffic);
    a("flops", k.flops);
}

template <typename A> void resultFields(A& a, MatchReport& m) {
    a("fused_node", m.fusedNode);
    if (!A::writes || !m.body.empty())
        a("body", m.body);
    a("rule", m.rule);
    a("file", m.file);
    a("line", m.line);
    a("nodes", m.nodes);
    if (!A::writes || !m.origins.empty())
        a("origins", m.origins);
    a("alternatives", m.labels);
    pairs(a, "bindings", m.bindings, &BindingReport::name, &BindingReport::values);
    a("bytes_before", m.bytesBefore);
    a("bytes_after", m.bytesAfter);
    a.derived("bytes_saved", m.bytesSaved());
    a("launches_before", m.launchesBefore);
    a("launches_after", m.launchesAfter);
    a.derived("launches_saved", m.launchesSaved());
    a("flops", m.flops);
}

/// A reason's sentence may hold predicted times: it stands with the timings.
template <typename A> void resultFields(A& a, StepReport& s) {
    a("kind", s.kind);
    a("phase", s.phase);
    a("iteration", s.iteration);
    a("rule", s.rule);
    a("file", s.file);
    a("line", s.line);
    a("nodes", s.nodes);
    a("made", s.made);
    if (!A::writes || !s.reason.code.empty())
        a("code", s.reason.code);
}

template <typename A> void fields(A& a, NearMissReport& miss) {
    a("rule", miss.rule);
    a("file", miss.file);
    a("line", miss.line);
    a("anchor", miss.anchor);
    a("node", miss.node);
    a("step", miss.step);
    a("steps", miss.steps);
    a("reason", miss.reason);
    a.derived("tried", false); // what the reason says would change it: only explain tries
}

template <typename A> void fields(A& a, PairReader& reader) {
    a("node", reader.node);
    a("rule", reader.rule);
    a("kernel", reader.kernel);
    if (!A::writes || !reader.lacks.empty())
        a("lacks", reader.lacks);
}

template <typename A> void fields(A& a, PairReport& pair) {
    a("store", pair.store);
    a("load", pair.load);
    a("value", pair.value);
    a("type", pair.type);
    a("scale", pair.scale);
    a("range", pair.range);
    a("readers", pair.readers);
    a("reformat_bytes", pair.reformatBytes);
    a("blocked_rule", pair.blockedRule);
    a("blocked_nodes", pair.blockedNodes);
}

template <typename A> void resultFields(A& a, BodyReport& body) {
    a("path", body.path);
    a("planned", body.planned);
    if (!A::writes || !body.whyNot.empty())
        a("why_not", body.whyNot);
    a("times", body.times);
    a("nodes", body.nodes);
    a("launches", body.launches);
    a("traffic", body.traffic);
    a.list("kernels", body.kernels, [](A& inner, auto& item) { resultFields(inner, item); });
}

template <typename A> void resultFields(A& a, Report& r) {
    const auto each = [](A& inner, auto& item) { resultFields(inner, item); };
    a.group("model", [&](A& m) {
        m("name", r.model.name);
        m("nodes", r.model.nodes);
        m("inputs", r.model.inputs);
        m("outputs", r.model.outputs);
        m("dims", r.model.dims);
        if (!A::writes || !r.model.notes.empty())
            m("notes", r.model.notes);
    });
    a.group("target", [&](A& t) {
        t("profile", r.machine.profile);
        t("backend", r.machine.backend);
        t("precision", r.precision.name);
    });
    a("precision", r.precision);
    a("rules", r.rules);
    a("before", r.before);
    a("after", r.after);
    a.list("kernels", r.after.kernels, each);
    a.list("kernels_before", r.before.kernels, each);
    a.list("matches", r.matches, each);
    a.list("steps", r.steps, each);
    a("near_misses", r.nearMisses);
    a("splits", r.splits);
    if (!A::writes || !r.recomputes.empty())
        a("recomputes", r.recomputes);
    a("groups", r.groups);
    if (!A::writes || !r.layouts.empty())
        a("layouts", r.layouts);
    if (!A::writes || !r.sweeps.empty())
        a("sweeps", r.sweeps);
    if (!A::writes || !r.pairs.empty())
        a("pairs", r.pairs);
    if (!A::writes || !r.before.bodies.empty())
        a.list("bodies_before", r.before.bodies, each);
    if (!A::writes || !r.after.bodies.empty())
        a.list("bodies", r.after.bodies, each);
}

template <typename A> void fields(A& a, TimingSummary& t) {
    a.micros("median_us", t.median);
    a.micros("p10_us", t.p10);
    a.micros("p90_us", t.p90);
    a.micros("low_us", t.low);
    a.micros("high_us", t.high);
    a("samples", t.samples);
    if (!A::writes || !t.kept.empty())
        a.micros("samples_us", t.kept);
}

template <typename A> void fields(A& a, RatioSummary& r) {
    a("median", r.ratio);
    a("low", r.low);
    a("high", r.high);
}

template <typename A> void fields(A& a, OutputAgreement& o) {
    a("side", o.side);
    a("output", o.output);
    a("max_abs", o.maxAbsolute);
    a("max_rel", o.maxRelative);
    a("tolerance", o.tolerance);
    a("ok", o.ok);
    if (!A::writes || !o.note.empty())
        a("note", o.note);
    if (!A::writes || o.empty)
        a("empty", o.empty);
}

template <typename A> void fields(A& a, NodeErrorReport& e) {
    a("node", e.node);
    a("value", e.value);
    a("relative", e.relative);
    a("max_abs", e.maxAbsolute);
}

template <typename A> void fields(A& a, KernelFacts& f) {
    a("registers", f.registers);
    a("shared_bytes", f.sharedBytes);
    a("spilled_bytes", f.spilledBytes);
    a("launches", f.launches);
    a("workspace_bytes", f.workspaceBytes);
    a("choice", f.choice);
    if (!A::writes || f.residentBlocks > 0) {
        a("resident_blocks", f.residentBlocks);
        a("occupancy", f.occupancy);
    }
}

template <typename A> void fields(A& a, MeasuredTraffic& t) {
    a("dram_read", t.dramRead);
    a("dram_written", t.dramWritten);
    a("l2", t.l2);
}

template <typename A> void fields(A& a, HiddenWork& h) {
    a("launches", h.launches);
    a("scratch_bytes", h.scratchBytes);
    a("values", h.values);
    a("passed_bytes", h.passedBytes);
}

template <typename A> void fields(A& a, RunFigures& f) {
    a("launches", f.launches);
    a("logical_bytes", f.logicalBytes);
    a("intermediate_buffers", f.intermediateBuffers);
    a("peak_bytes", f.peakBytes);
}

template <typename A> void timingFields(A& a, KernelReport& k) {
    if constexpr (A::writes)
        a("name", k.name);
    a("tactic", k.tactic);
    a("fallback", k.isFallback);
    a("fallbacks", k.fallbacks);
    if (!A::writes || k.hidden.any())
        a("hidden", k.hidden);
    a.micros("predicted_us", k.predictedSeconds);
    a("limiter", k.limiter);
    a.micros("median_us", k.measuredSeconds);
    a("share", k.share);
    a.micros("roofline_us", k.rooflineSeconds);
    a("device", k.facts);
    a("in_situ", k.inSitu);
    a("cold", k.cold);
    a("warm", k.warm);
    a("measured_traffic", k.measuredTraffic);
}

template <typename A> void timingFields(A& a, MatchReport& m) {
    if constexpr (A::writes)
        a("fused_node", m.fusedNode);
    a.micros("predicted_before_us", m.secondsBefore);
    a.micros("predicted_after_us", m.secondsAfter);
    a.micros("gain_us", m.gain);
    a.micros("before_us", m.measuredBefore);
    a.micros("after_us", m.measuredAfter);
    a("ratio", m.measuredRatio);
    a.derived("slower", m.slower());
    if (!A::writes || !m.unjudged.empty())
        a("not_judged", m.unjudged);
    a("error", m.error);
}

template <typename A> void timingFields(A& a, BodyReport& body) {
    if constexpr (A::writes)
        a("path", body.path);
    a.micros("predicted_us", body.predictedSeconds);
    a.list("kernels", body.kernels, [](A& inner, auto& item) { timingFields(inner, item); });
}

template <typename A> void timingFields(A& a, StepReport& s) {
    if constexpr (A::writes) {
        a("rule", s.rule);
        a("nodes", s.nodes);
    }
    a("reason", s.reason);
}

template <typename A> void machineFields(A& a, MachineReport& m) {
    a("cpu", m.cpu);
    a("cores", m.cores);
    a("threads", m.threadsUsed);
    a("backend", m.backendText);
    a("notes", m.notes);
    a("step_timing", m.stepTiming);
    a("others_busy_cores", m.othersBusy);
    if (!A::writes || !m.counters.empty())
        a("counters", m.counters);
    a("profile_title", m.profileTitle);
    if (!A::writes || !m.profileOrigin.empty())
        a("profile_origin", m.profileOrigin);
    a("dram_bytes_per_second", m.dramBandwidth);
    a("l2_bytes_per_second", m.l2Bandwidth);
    a("peak_flops_per_second", m.peakFlops);
}

/// Predicted times are here, since they depend on the profile of this machine.
template <typename A> void timingFields(A& a, Report& r) {
    const auto each = [](A& inner, auto& item) { timingFields(inner, item); };
    a.group("machine", [&](A& m) { machineFields(m, r.machine); });
    a("path", r.model.path);
    a("stages_s", r.stageSeconds);
    a.group("predicted", [&](A& p) {
        p.micros("before_us", r.before.predictedSeconds);
        p.micros("after_us", r.after.predictedSeconds);
    });
    a("before", r.before.measured);
    a("after", r.after.measured);
    a("ratio", r.ratio);
    if constexpr (A::writes)
        a("slower_matches", r.slowerMatchCount());
    a.derived("fallbacks", r.fallbackCount());
    a.derived("ran_before", r.before.asRun());
    a.derived("ran_after", r.after.asRun());
    if (!A::writes || !r.timingNotes.empty())
        a("timing_notes", r.timingNotes);
    a("measured_traffic_before", r.before.measuredTraffic);
    a("measured_traffic_after", r.after.measuredTraffic);
    a("agreement", r.agreement);
    if (!A::writes || !r.nodeErrors.empty())
        a("node_errors", r.nodeErrors);
    a.list("kernels", r.after.kernels, each);
    a.list("kernels_before", r.before.kernels, each);
    a.list("matches", r.matches, each);
    if (!A::writes || !r.before.bodies.empty())
        a.list("bodies_before", r.before.bodies, each);
    if (!A::writes || !r.after.bodies.empty())
        a.list("bodies", r.after.bodies, each);
    // Reasons belong to the steps that have a code, in order.
    std::vector<StepReport> refused;
    for (const StepReport& step : r.steps)
        if (!step.reason.code.empty())
            refused.push_back(step);
    a.list("refusals", refused, each);
    if constexpr (!A::writes) {
        size_t next = 0;
        for (StepReport& step : r.steps)
            if (!step.reason.code.empty() && next < refused.size())
                step.reason = refused[next++].reason;
    }
}

template <typename A> void fields(A& a, GraphValueReport& v) {
    a("name", v.name);
    a("type", v.type);
    a("dtype", v.dtype);
    a("literal", v.literal);
    a("bytes", v.bytes);
    a("constant", v.constant);
}

template <typename A> void fields(A& a, GraphNodeReport& n) {
    a("name", n.name);
    a("op", n.op);
    a("fused", n.fused);
    a("rule", n.rule);
    a("file", n.file);
    a("line", n.line);
    a("sources", n.sources);
    a("inputs", n.inputs);
    a("outputs", n.outputs);
    if (!A::writes || !n.origins.empty())
        a("origins", n.origins);
    if (!A::writes || !n.notComputed.empty())
        a("not_computed", n.notComputed);
    std::vector<std::vector<std::string>> attributes;
    for (const auto& [name, value] : n.attributes)
        attributes.push_back({name, value});
    a("attributes", attributes);
    if constexpr (!A::writes) {
        n.attributes.clear();
        for (const auto& pair : attributes)
            if (pair.size() == 2)
                n.attributes.emplace_back(pair[0], pair[1]);
    }
}

template <typename A> void fields(A& a, GraphReport& g) {
    a("name", g.name);
    a("nodes", g.nodes);
    a("values", g.values);
    a("inputs", g.inputs);
    a("outputs", g.outputs);
}

} // namespace fuselage::app
