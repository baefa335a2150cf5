// SPDX-License-Identifier: Apache-2.0
#include "app/report/explain_text.h"
#include "app/report/json_fields_internal.h"
#include "app/report/json_internal.h"

namespace fuselage::app {

namespace {

constexpr const char* explainSchema = "fuselage.explain/1";

} // namespace

inline const char* nameOf(Finding::Stage stage) {
    constexpr const char* names[] = {"start",   "match", "legal", "gate",
                                     "rewrite", "lower", "select"};
    return names[static_cast<size_t>(stage)];
}

template <typename A> void fields(A& a, TextPlace& p) {
    a("file", p.file);
    a("line", p.line);
    a("column", p.column);
    a("length", p.length);
    a("text", p.text);
}

template <typename A> void fields(A& a, TextChange& c) {
    a("place", c.place);
    a("remove", c.remove);
    a("insert", c.insert);
}

template <typename A> void fields(A& a, ChangeOutcome& o) {
    a("fires_before", o.before);
    a("fires", o.fires);
    a("gain_us", o.us);
    a("nodes", o.nodes);
    a("bytes", o.bytes);
    a("unsound", o.isUnsound);
}

template <typename A> void fields(A& a, FindingSite& s) {
    a("node", s.node);
    a("nodes", s.nodes);
    a("taken", s.taken);
    if (!s.holder.empty())
        a("holder", s.holder);
    if (!s.origin.empty())
        a("origin", s.origin);
}

template <typename A> void fields(A& a, Finding& f) {
    a("rule", f.rule);
    a("file", f.file);
    a("line", f.line);
    a("stage", f.stage);
    a("reason", f.reason);
    a("step", f.step);
    a("steps", f.steps);
    a("absent", f.absent);
    a("place", f.place);
    a("sites", f.sites);
    a("change", f.change);
    a.derived("tried", f.outcome.has_value());
    a("outcome", f.outcome);
    if (f.stage == Finding::Stage::Lower) {
        a("parts", f.parts);
        a("launches_saved", f.launches);
        a("bytes_saved", f.bytes);
    }
}

template <typename A> void fields(A& a, RuleStanding& r) {
    a("rule", r.rule);
    a("file", r.file);
    a("line", r.line);
    a("phase", r.phase);
    a("matched", r.matched);
    a("applied", r.applied);
    a("places", r.places);
    a("hints", r.hints);
}

template <typename A> void fields(A& a, PairRemark& r) {
    a("node", r.node);
    a("code", r.code);
    a("message", r.message);
    a("fix", r.fix);
    a("is_advice", r.isAdvice);
}

/// What was done to the node asked for.
struct Happened {
    const TraceEvent* event = nullptr;
};

template <typename A> void fields(A& a, Happened& h) {
    const TraceEvent& e = *h.event;
    a("kind", std::string(e.kind == TraceEvent::Kind::Fused ? "fused" : "rewritten"));
    a("rule", e.rule);
    a("file", e.file);
    a("line", e.line);
    a("phase", e.phase);
    a("nodes", e.nodes);
    a("made", e.made);
}

std::string renderExplanationJson(const Explanation& e) {
    json out = json::object();
    JsonWriter a(out);
    a("schema", std::string(explainSchema));
    a("model", e.model);
    a("pipeline", e.pipeline);
    a("decide", e.decide);
    a("device", e.device);
    a("nodes_before", e.nodesBefore);
    a("nodes_after", e.nodesAfter);
    a("rule", e.rule);
    a("node", e.node);
    if (!e.with.empty())
        a("with", e.with);
    if (!e.planned.empty())
        a("planned", e.planned);
    if (!e.origins.empty())
        a("origins", e.origins);
    if (!e.notes.empty())
        a("notes", e.notes);
    a("rules", e.rules);
    a("findings", e.findings);
    std::vector<Happened> happened;
    for (const TraceEvent& event : e.happened)
        happened.push_back({&event});
    a("happened", happened);
    if (!e.pairs.empty())
        a("pairs", e.pairs);
    if (!e.remarks.empty())
        a("pair_lint", e.remarks);
    if (!e.kept.empty())
        a("stays_float32", e.kept);
    a("taken_matches", e.takenMatches);
    a("taken_rules", e.takenRules);
    a("absent_rules", e.absentRules);
    a("held_rules", e.heldRules);
    a("tidy_rules", e.tidyRules);
    return fileText(out);
}

} // namespace fuselage::app
