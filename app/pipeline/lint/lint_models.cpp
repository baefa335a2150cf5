// SPDX-License-Identifier: Apache-2.0
// W0313: rules that never fire on the models they are meant for, with the reason that came nearest:
// the gate and its best gain, a rule that takes the nodes, or the step that failed.
#include "app/pipeline/fuse.h"
#include "app/pipeline/lint/lint_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fuselage::app {

namespace {

/// What the models say about one rule.
struct Findings {
    uint32_t matched = 0;
    uint32_t applied = 0;
    uint32_t gated = 0;
    double bestGain = -std::numeric_limits<double>::infinity();
    std::optional<TraceEvent> refusal; ///< the best gated one, else the first
    std::optional<NearMiss> nearest;
};

void read(const Trace& trace, std::map<std::string, Findings>& out) {
    for (const RuleCount& count : trace.counts) {
        out[count.rule].matched += count.matched;
        out[count.rule].applied += count.applied;
    }
    for (const TraceEvent& event : trace.events) {
        if (event.kind != TraceEvent::Kind::Refused)
            continue;
        Findings& it = out[event.rule];
        bool gate = event.reason.code == code::gate;
        it.gated += gate ? 1 : 0;
        if (gate ? event.gain > it.bestGain : !it.refusal)
            it.refusal = event;
        if (gate)
            it.bestGain = std::max(it.bestGain, event.gain);
    }
    for (const NearMiss& miss : trace.nearMisses) {
        Findings& it = out[miss.rule];
        if (!it.nearest || miss.step > it.nearest->step)
            it.nearest = miss;
    }
}

std::set<std::string> phasesOf(const RuleSet& rules, const std::string& name) {
    std::set<std::string> out;
    if (const Pipeline* pipeline = findPipeline(rules, name))
        for (const PhaseStep& step : pipeline->steps)
            out.insert(step.phase);
    return out;
}

/// Names of models and their nodes are no lines of a diagnostic.
std::string inOneLine(const std::string& text) {
    std::string out;
    for (const char c : text)
        c == '\n' ? void(out += "\\n") : out.push_back(c);
    return out;
}

void reportUnfound(LintContext& context, const Rule& rule, const Findings& it,
                   const std::string& models) {
    auto add = [&](std::string message) -> Diagnostic& {
        return context.out.warning("W0313", rule.span, std::move(message));
    };
    if (it.gated > 0) {
        Diagnostic& d = add(fmt::format("the gate of `{}` refuses all of its {} matches on {}",
                                        rule.name, it.gated, models));
        d.notes.push_back("the best one: " + inOneLine(it.refusal->reason.message));
        d.fix = "loosen the gate, or delete the rule";
        return;
    }
    Diagnostic& d = add(fmt::format("rule `{}` never fires on {}", rule.name, models));
    if (it.refusal) {
        d.notes.push_back("nearest: " + inOneLine(it.refusal->reason.text()));
        d.fix = inOneLine(it.refusal->reason.flip);
    } else if (it.nearest) {
        d.notes.push_back(inOneLine(fmt::format("nearest: {} of {} steps at {}, {}",
                                                it.nearest->step, it.nearest->steps,
                                                it.nearest->anchor, it.nearest->reason.text())));
        d.fix = inOneLine(it.nearest->reason.flip);
    } else {
        d.notes.push_back("no node can be the last one of its match");
        d.fix = "see what the model holds with `fuselage inspect`";
    }
}

} // namespace

Result<void> lintModels(LintContext& context, const LintOptions& options) {
    if (options.models.empty())
        return {};
    std::map<std::string, Findings> findings;
    std::string names;
    for (const LintModel& model : options.models) {
        FuseOptions fusing;
        fusing.decide = Decide::Cost;
        fusing.profile = options.profile;
        fusing.pipeline = options.pipeline;
        fusing.dims = model.dims;
        fusing.explain = true;
        auto done = fuseGraph(*model.graph, context.library, fusing, context.progress);
        if (!done)
            return failure(done.error());
        read(done->trace, findings);
        names += (names.empty() ? "" : ", ") + inOneLine(model.name);
    }
    if (options.models.size() > 3)
        names = fmt::format("{} models", options.models.size());
    std::set<std::string> phases = phasesOf(context.library.loaded.rules, options.pipeline);
    const std::vector<std::string>& files = context.library.files;
    for (const auto& indexed : context.index.rules()) {
        const Rule& rule = indexed->rule();
        bool asked =
            files.empty() || std::find(files.begin(), files.end(), rule.file) != files.end();
        const Findings& it = findings[rule.name];
        if (asked && phases.contains(rule.phase) && it.applied == 0)
            reportUnfound(context, rule, it, names);
    }
    return {};
}

} // namespace fuselage::app
