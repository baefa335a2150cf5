// SPDX-License-Identifier: Apache-2.0
#include "app/report/json.h"

#include <nlohmann/json.hpp>

namespace fuselage::app {

namespace {

using nlohmann::json;

json reasonJson(const Reason& reason) {
    json facts = json::object();
    for (const ReasonFact& fact : reason.facts)
        facts[fact.name] = fact.value;
    return {{"code", reason.code},
            {"message", reason.message},
            {"flip", reason.flip},
            {"facts", facts}};
}

json trafficJson(const Traffic& traffic) {
    return {{"logical_read", traffic.logicalRead},
            {"logical_written", traffic.logicalWritten},
            {"l2_predicted", traffic.l2},
            {"dram_predicted", traffic.dram}};
}

json sideJson(const SideReport& side) {
    return {{"nodes", side.nodes},
            {"launches", side.launches},
            {"logical_bytes", side.traffic.logical()},
            {"traffic", trafficJson(side.traffic)},
            {"peak_bytes", side.peakBytes},
            {"constant_bytes", side.constantBytes},
            {"intermediate_buffers", side.intermediateBuffers},
            {"flops", side.flops},
            {"intensity", side.intensity()}};
}

json precisionJson(const PrecisionReport& precision) {
    json kept = json::array();
    for (const PrecisionReport::Kept& node : precision.kept)
        kept.push_back({{"node", node.node}, {"reason", reasonJson(node.reason)}});
    return {{"name", precision.name},
            {"narrowed", precision.narrowed},
            {"casts", precision.casts},
            {"weight_bytes_before", precision.weightBytesBefore},
            {"weight_bytes_after", precision.weightBytesAfter},
            {"kept", kept}};
}

json timingJson(const TimingSummary& timing) {
    return {{"median_us", timing.median * 1e6}, {"p10_us", timing.p10 * 1e6},
            {"p90_us", timing.p90 * 1e6},       {"low_us", timing.low * 1e6},
            {"high_us", timing.high * 1e6},     {"samples", timing.samples}};
}

json matchJson(const MatchReport& match) {
    json bindings = json::object();
    for (const BindingReport& binding : match.bindings)
        bindings[binding.name] = binding.values;
    return {{"fused_node", match.fusedNode},
            {"rule", match.rule},
            {"file", match.file},
            {"line", match.line},
            {"nodes", match.nodes},
            {"alternatives", match.labels},
            {"bindings", bindings},
            {"bytes_before", match.bytesBefore},
            {"bytes_after", match.bytesAfter},
            {"bytes_saved", match.bytesSaved()},
            {"launches_saved", match.launchesSaved()},
            {"flops", match.flops}};
}

json stepJson(const StepReport& step) {
    constexpr const char* kinds[] = {"fused", "rewritten", "refused", "stopped"};
    json out{{"kind", kinds[static_cast<size_t>(step.kind)]},
             {"phase", step.phase},
             {"iteration", step.iteration},
             {"rule", step.rule},
             {"nodes", step.nodes},
             {"made", step.made}};
    // The sentence may hold predicted times: it stands with the timings.
    if (!step.reason.code.empty())
        out["code"] = step.reason.code;
    return out;
}

json nearMissJson(const NearMissReport& miss) {
    return {{"rule", miss.rule}, {"anchor", miss.anchor}, {"node", miss.node},
            {"step", miss.step}, {"steps", miss.steps},   {"reason", reasonJson(miss.reason)}};
}

template <typename Rows, typename Function> json listJson(const Rows& rows, Function function) {
    json out = json::array();
    for (const auto& row : rows)
        out.push_back(function(row));
    return out;
}

/// What the model, the rules and the profile determine: equal in every run, fit for comparing.
json resultsJson(const Report& r) {
    json rules = json::array(), kernels = json::array(), splits = json::array(),
         groups = json::array();
    for (const RuleReport& rule : r.rules)
        rules.push_back({{"rule", rule.rule},
                         {"file", rule.file},
                         {"line", rule.line},
                         {"fused", rule.fused},
                         {"near_misses", rule.nearMisses},
                         {"launches_saved", rule.launchesSaved},
                         {"bytes_saved", rule.bytesSaved}});
    for (const KernelReport& k : r.kernels)
        kernels.push_back({{"name", k.name},
                           {"program", k.kind},
                           {"rule", k.rule},
                           {"nodes", k.sources},
                           {"numeric", k.numeric},
                           {"numeric_allowed", k.allowed},
                           {"traffic", trafficJson(k.traffic)},
                           {"flops", k.flops}});
    for (const SplitReport& split : r.splits)
        splits.push_back({{"node", split.node},
                          {"rule", split.rule},
                          {"parts", split.parts},
                          {"reason", reasonJson(split.reason)}});
    for (const GroupReport& group : r.groups)
        groups.push_back({{"members", group.members},
                          {"taken", group.taken},
                          {"reason", reasonJson(group.reason)}});
    return {{"model",
             {{"name", r.model.name},
              {"nodes", r.model.nodes},
              {"inputs", r.model.inputs},
              {"outputs", r.model.outputs},
              {"dims", r.model.dims}}},
            {"target",
             {{"profile", r.machine.profile},
              {"backend", r.machine.backend},
              {"precision", r.precision.name}}},
            {"precision", precisionJson(r.precision)},
            {"rules", rules},
            {"before", sideJson(r.before)},
            {"after", sideJson(r.after)},
            {"kernels", kernels},
            {"matches", listJson(r.matches, matchJson)},
            {"steps", listJson(r.steps, stepJson)},
            {"near_misses", listJson(r.nearMisses, nearMissJson)},
            {"splits", splits},
            {"groups", groups}};
}

json deviceJson(const KernelReport& k) {
    json out{{"registers", k.facts->registers},
             {"shared_bytes", k.facts->sharedBytes},
             {"spilled_bytes", k.facts->spilledBytes},
             {"launches", k.facts->launches},
             {"workspace_bytes", k.facts->workspaceBytes},
             {"choice", k.facts->choice},
             {"roofline_us", k.rooflineSeconds * 1e6}};
    for (const auto& [name, timing] :
         {std::pair("in_situ", &k.inSitu), {"cold", &k.cold}, {"warm", &k.warm}})
        if (*timing)
            out[name] = timingJson(**timing);
    return out;
}

/// What depends on the machine and the moment. Predicted times are here, since the profile of this
/// machine holds a measured bandwidth.
json timingsJson(const Report& r) {
    json out{{"machine",
              {{"cpu", r.machine.cpu},
               {"cores", r.machine.cores},
               {"threads", r.machine.threadsUsed},
               {"backend", r.machine.backendText},
               {"notes", r.machine.notes},
               {"step_timing", r.machine.stepTiming}}},
             {"stages_s", r.stageSeconds},
             {"predicted",
              {{"before_us", r.before.predictedSeconds * 1e6},
               {"after_us", r.after.predictedSeconds * 1e6}}}};
    if (r.before.measured)
        out["before"] = timingJson(*r.before.measured);
    if (r.after.measured)
        out["after"] = timingJson(*r.after.measured);
    if (r.ratio)
        out["ratio"] = {{"median", r.ratio->ratio}, {"low", r.ratio->low}, {"high", r.ratio->high}};
    json agreement = json::array(), kernels = json::array();
    for (const OutputAgreement& o : r.agreement)
        agreement.push_back({{"side", o.side},
                             {"output", o.output},
                             {"max_abs", o.maxAbsolute},
                             {"max_rel", o.maxRelative},
                             {"tolerance", o.tolerance},
                             {"ok", o.ok}});
    for (const KernelReport& k : r.kernels) {
        json fallbacks = json::array();
        for (const Reason& reason : k.fallbacks)
            fallbacks.push_back(reasonJson(reason));
        json row{{"name", k.name},
                 {"tactic", k.tactic},
                 {"fallbacks", fallbacks},
                 {"predicted_us", k.predictedSeconds * 1e6},
                 {"limiter", k.limiter}};
        if (k.measuredSeconds)
            row["median_us"] = *k.measuredSeconds * 1e6;
        if (k.facts)
            row["device"] = deviceJson(k);
        kernels.push_back(std::move(row));
    }
    json refusals = json::array();
    for (const StepReport& step : r.steps)
        if (!step.reason.code.empty())
            refusals.push_back(
                {{"rule", step.rule}, {"nodes", step.nodes}, {"reason", reasonJson(step.reason)}});
    out["refusals"] = refusals;
    out["agreement"] = agreement;
    out["kernels"] = kernels;
    return out;
}

} // namespace

std::string renderJson(const Report& report) {
    json out{{"schema", "fuselage.report/1"},
             {"results", resultsJson(report)},
             {"timings", timingsJson(report)}};
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace fuselage::app
