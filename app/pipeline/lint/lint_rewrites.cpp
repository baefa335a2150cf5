// SPDX-License-Identifier: Apache-2.0
// E0231: a rewrite that is refused in every graph that its rule matches, because it would change
// the type or the rank of a value. One that is refused in some graphs is what the engine is there
// for.
#include "app/pipeline/lint/lint_internal.h"
#include "app/pipeline/prove/proof.h"

namespace fuselage::app {

namespace {

/// The refusal of the rewrite in this graph; null when it went through.
const TraceEvent* refusalIn(const Trace& trace, const std::string& rule) {
    const TraceEvent* out = nullptr;
    for (const TraceEvent& event : trace.events) {
        if (event.rule != rule)
            continue;
        if (event.kind == TraceEvent::Kind::Rewritten)
            return nullptr;
        if (event.reason.code == code::rewriteType)
            out = &event;
    }
    return out;
}

/// Of rank 0 almost anything fits almost anything.
bool readsSingleNumber(const Graph& graph) {
    return std::any_of(graph.inputs().begin(), graph.inputs().end(), [&](ValueId input) {
        return graph.value(input).type.hasRank() && graph.value(input).type.rank() == 0;
    });
}

} // namespace

void lintRewriteTypes(LintContext& context) {
    for (const auto& indexed : context.index.rules()) {
        const Rule& rule = indexed->rule();
        if (!rule.isRewrite || context.progress.cancelled())
            continue;
        std::vector<const Witness*> witnesses;
        for (const Witness& witness : context.witnesses(indexed->prepared()))
            if (!readsSingleNumber(witness.graph))
                witnesses.push_back(&witness);
        bool always = witnesses.size() >= leastWitnesses;
        Reason first;
        for (size_t i = 0; always && i < witnesses.size(); ++i) {
            Rewritten done = runPhase(witnesses[i]->graph, {rule}, false, context.silent);
            const TraceEvent* refusal = refusalIn(done.trace, rule.name);
            always = refusal != nullptr;
            if (refusal && i == 0)
                first = refusal->reason;
        }
        // Witnesses know little of what operands must be; the proof's samples are chosen by
        // operator.
        ProofOptions few;
        few.samples = 4;
        few.exact = false;
        if (!always)
            continue;
        const RuleProof proof = proveRule(rule, few, context.silent);
        // Some are of rank 0, or reduce nothing, where much fits.
        if (2 * proof.samples > proof.attempts)
            continue;
        Span place = rule.rewrite.empty() ? rule.span : rule.rewrite[0].span;
        Diagnostic& d = context.out.error(
            "E0231", place, "the rewrite of `" + rule.name + "` never fits what it replaces");
        d.notes.push_back(first.message);
        d.notes.push_back("witness: " + witnessText(witnesses[0]->graph, witnesses[0]->matches[0]));
        d.fix = "cast or reshape the result to the type that is replaced";
    }
}

} // namespace fuselage::app
