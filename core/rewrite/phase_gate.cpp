// SPDX-License-Identifier: Apache-2.0
// Whether a legal match is also wanted: its gain against the gate of its rule, and what a refusal
// says. Computes no gains itself.
#include "core/rewrite/phase_internal.h"

#include <fmt/format.h>

#include <cmath>

namespace fuselage {

namespace {

std::string numberText(double value) {
    return fmt::format("{:.4g}", value);
}

/// Both sides of a comparison as numbers.
struct Sides {
    double found = 0, limit = 0;
};

std::optional<Sides> sidesOf(const EvaluateContext& context, const Expression& condition) {
    bool compares = condition.kind == Expression::Kind::Binary && condition.args.size() == 2 &&
                    (condition.text.starts_with('<') || condition.text.starts_with('>'));
    if (!compares)
        return std::nullopt;
    auto found = evaluate(context, condition.args[0]).number();
    auto limit = evaluate(context, condition.args[1]).number();
    return found && limit ? std::optional(Sides{*found, *limit}) : std::nullopt;
}

/// A limit that the number found keeps, with three digits; none where that would let in losses.
std::optional<std::string> limitThatHolds(const Expression& condition, double found) {
    bool least = condition.text.starts_with('>');
    if (!std::isfinite(found) || (least && found <= 0))
        return std::nullopt;
    double room = std::pow(10, std::floor(std::log10(std::max(std::abs(found), 1e-9))) - 2);
    double limit =
        least ? std::floor(found / room) * room - room : std::ceil(found / room) * room + room;
    return fmt::format("{:.6g}", limit);
}

/// Whether the match is predicted to be faster; where the prediction cannot tell, it must not move
/// more bytes. A node alone is the same kernel under another name.
bool pays(const Match& match, const Gain& gain) {
    if (match.nodes.size() == 1)
        return gain.us >= 0;
    return gain.us > 0 && (gain.us > gain.error || gain.bytes >= 0);
}

} // namespace

/// The gain by which the match competes; none when its gate refuses. Without a cost model no gate
/// is asked.
std::optional<double> Phase::admit(const Match& match) {
    if (!m_options.gain)
        return nodesSaved(match);
    const Gate& gate = match.rule->gate;
    // A rewrite without a gate is a normalisation: its gain shows only in what follows.
    bool byCost = m_options.decide != Decide::Rules && gate.kind == Gate::Kind::Default;
    if (byCost && match.rule->isRewrite)
        return nodesSaved(match);
    Gain gain = m_options.gain(m_graph, match);
    if (gate.kind == Gate::Kind::Condition)
        return holdsGate(match, gain) ? std::optional(gain.us) : std::nullopt;
    if (!byCost || pays(match, gain))
        return gain.us;
    const std::string source = gain.isMeasured ? "measurement" : "prediction";
    std::string message = "the match gains " + numberText(gain.us) + " us";
    if (gain.isMeasured)
        message += ", measured";
    if (gain.us > 0)
        message += ", which is within the error of the " + source + " (" + numberText(gain.error) +
                   " us), and moves " + numberText(-gain.bytes) + " bytes more";
    refuseGate(match, gain,
               {code::gate,
                std::move(message),
                "write `gate always`, or decide by rules",
                {{"found", "gain.us = " + numberText(gain.us)}, {"expected", "gain.us > 0"}}},
               RuleEdit{RuleEdit::Kind::Clause, match.rule->span, {}, "gate always;"});
    return std::nullopt;
}

/// What no program computes gains nothing: then that is the reason.
void Phase::refuseGate(const Match& match, const Gain& gain, Reason reason,
                       std::optional<RuleEdit> edit) {
    if (gain.refusal) {
        reason.message += (match.rule->isRewrite ? ": it cannot be written: "
                                                 : ": no single kernel computes it: ") +
                          gain.refusal->message;
        reason.facts.insert(reason.facts.end(), gain.refusal->facts.begin(),
                            gain.refusal->facts.end());
        reason.facts.push_back({"lower", gain.refusal->code});
        if (!gain.refusal->flip.empty()) {
            reason.flip = gain.refusal->flip;
            edit.reset();
        }
    }
    refuse(match, std::move(reason), gain.us, std::move(edit));
}

bool Phase::holdsGate(const Match& match, const Gain& gain) {
    RootValues roots = m_options.matcher.roots;
    roots.gain = &gain;
    EvaluateContext context{m_graph, *match.rule, match.slots, match.dims, &match.regions, &roots};
    const Expression& condition = *match.rule->gate.condition;
    Truth truth = evaluate(context, condition).truth();
    if (truth == Truth::True)
        return true;
    std::string gains = fmt::format("gain {:.4g} us, {:.4g} bytes", gain.us, gain.bytes);
    Reason reason{
        truth == Truth::False ? code::gate : code::unknown,
        fmt::format("the gate is {} ({})", truth == Truth::False ? "false" : "not known", gains),
        "loosen the gate, or write `gate always;`",
        {}};
    RuleEdit edit{RuleEdit::Kind::Replace, condition.span, {}, "always"};
    if (auto sides = sidesOf(context, condition)) {
        std::string wanted = condition.text + " " + numberText(sides->limit);
        reason.message = "the gate found " + numberText(sides->found) + ", the rule wants " +
                         wanted + " (" + gains + ")";
        reason.facts = {{"found", numberText(sides->found)}, {"expected", wanted}};
        if (auto limit = limitThatHolds(condition, sides->found)) {
            reason.flip = "loosen the gate to `" + condition.text + " " + *limit + "`";
            edit = {RuleEdit::Kind::Replace, condition.args[1].span, {}, *limit};
        }
    }
    refuseGate(match, gain, std::move(reason), std::move(edit));
    return false;
}

} // namespace fuselage
