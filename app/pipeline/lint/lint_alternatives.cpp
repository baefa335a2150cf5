// SPDX-License-Identifier: Apache-2.0
// E0309: an alternative that makes no difference, because those before it match whatever it
// matches. One that stands in a pattern counts only when that is so wherever the pattern is used.
#include "app/pipeline/lint/lint_internal.h"

#include <algorithm>
#include <tuple>

namespace fuselage::app {

namespace {

using Place = std::tuple<uint32_t, uint32_t, uint32_t>;

/// What is known of one alternative over all rules that it is written out in.
struct Standing {
    bool reached = false;
    Span span;
    Span before; ///< an alternative that covers it alone
    std::string witness;
};

/// A rule with some of the alternatives of a choice.
class Variant {
public:
    Variant(const Rule& rule, size_t choice, size_t from, size_t count)
        : m_rule(with(rule, choice, from, count)), m_prepared(prepareRule(m_rule)) {}

    const PreparedRule& operator*() const { return *m_prepared; }

private:
    static Rule with(Rule rule, size_t choice, size_t from, size_t count) {
        auto& alternatives = rule.terms[choice].alternatives;
        alternatives = {alternatives.begin() + static_cast<std::ptrdiff_t>(from),
                        alternatives.begin() + static_cast<std::ptrdiff_t>(from + count)};
        return rule;
    }

    const Rule m_rule;
    const std::unique_ptr<const PreparedRule> m_prepared;
};

bool covers(const PreparedRule& rule, const Witness& witness) {
    auto found = matchesIn(rule, witness.graph);
    return std::all_of(witness.matches.begin(), witness.matches.end(), [&](const auto& nodes) {
        return std::find(found.begin(), found.end(), nodes) != found.end();
    });
}

/// Graphs with matches that need the alternative: the step that it stands in may be optional.
std::vector<Witness> needing(const PreparedRule& only, const PreparedRule& none,
                             Progress& progress) {
    std::vector<Witness> out = witnessesOf(only, 20, progress);
    for (Witness& witness : out) {
        auto without = matchesIn(none, witness.graph);
        std::erase_if(witness.matches, [&](const auto& nodes) {
            return std::find(without.begin(), without.end(), nodes) != without.end();
        });
    }
    std::erase_if(out, [](const Witness& witness) { return witness.matches.empty(); });
    return out;
}

class AlternativeLint {
public:
    explicit AlternativeLint(LintContext& context) : m_context(context) {}

    void run() {
        for (const auto& indexed : m_context.index.rules()) {
            const Rule& rule = indexed->rule();
            for (size_t i = 0; i < rule.terms.size() && !m_context.progress.cancelled(); ++i)
                for (size_t at = 1; at < rule.terms[i].alternatives.size(); ++at)
                    check(rule, i, at);
        }
        for (const auto& [place, standing] : m_standing)
            if (!standing.reached)
                report(standing);
    }

private:
    void check(const Rule& rule, size_t choice, size_t at) {
        const Span& span = spanOf(rule, choice, at);
        Standing& standing = m_standing[{span.source, span.begin, span.end}];
        if (standing.reached)
            return;
        standing.span = span;
        const Variant only(rule, choice, at, 1);
        const Variant earlier(rule, choice, 0, at);
        const Variant none(rule, choice, 0, 0);
        std::vector<Witness> witnesses = needing(*only, *none, m_context.silent);
        standing.reached = witnesses.size() < leastWitnesses ||
                           !std::all_of(witnesses.begin(), witnesses.end(),
                                        [&](const Witness& it) { return covers(*earlier, it); });
        if (standing.reached)
            return;
        standing.witness = witnessText(witnesses[0].graph, witnesses[0].matches[0]);
        for (size_t i = 0; i < at && standing.before.empty(); ++i) {
            const Variant one(rule, choice, i, 1);
            if (std::all_of(witnesses.begin(), witnesses.end(),
                            [&](const Witness& it) { return covers(*one, it); }))
                standing.before = spanOf(rule, choice, i);
        }
    }

    static const Span& spanOf(const Rule& rule, size_t choice, size_t at) {
        return rule.terms[choice].alternatives[at].span;
    }

    void report(const Standing& standing) {
        Diagnostic& d =
            m_context.out.error("E0309", standing.span, "this alternative is never needed");
        d.notes.push_back("whatever it matches, an alternative before it matches too");
        d.notes.push_back("witness: " + standing.witness);
        if (!standing.before.empty())
            d.labels.push_back({standing.before, "is tried first"});
        d.fix = "delete it, or put it before the wider one";
    }

    LintContext& m_context;
    std::map<Place, Standing> m_standing;
};

} // namespace

void lintAlternatives(LintContext& context) {
    AlternativeLint(context).run();
}

} // namespace fuselage::app
