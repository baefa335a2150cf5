// SPDX-License-Identifier: Apache-2.0
// Whether a legal match is also wanted: its gain against the gate of its rule, and what a refusal
// says. Computes no gains itself.
#include "core/rewrite/comparison.h"
#include "core/rewrite/phase_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

std::string numberText(double value) {
    return fmt::format("{:.4g}", value);
}

/// A limit that the number found keeps, with three digits; none where that would let in losses.
std::optional<std::string> limitThatHolds(const std::string& symbol, double found) {
    bool least = symbol[0] == '>';
    if (found == 0 && symbol == ">=")
        return "0";
    if (!std::isfinite(found) || (least && found <= 0))
        return std::nullopt;
    double room = std::pow(10, std::floor(std::log10(std::max(std::abs(found), 1e-9))) - 2);
    double limit =
        least ? std::floor(found / room) * room - room : std::ceil(found / room) * room + room;
    return fmt::format("{:.6g}", limit);
}

/// Whether the match is predicted to be faster. A node alone is the same kernel under another name.
bool pays(const Match& match, const Gain& gain) {
    if (match.nodes.size() == 1 && !match.rule->isRewrite)
        return gain.us >= 0;
    return gain.preferred.value_or(gain.us > 0);
}

/// The nearest change of an ordering comparison of numbers with which it holds.
void loosen(const Comparison& failed, Reason& reason, RuleEdit& edit) {
    const auto found = failed.found.number(), limit = failed.limit.number();
    const std::string& symbol = failed.symbol;
    if (!found || !limit || (symbol[0] != '<' && symbol[0] != '>'))
        return;
    if (symbol == ">" && *found == 0 && *limit == 0) {
        reason.flip = std::string("loosen the gate to `") + (failed.turned ? "0 <= ..." : ">= 0") +
                      "`, which takes what gains nothing";
        edit = {RuleEdit::Kind::Replace, failed.whole->span, failed.whole->text,
                failed.whole->text + "="};
    } else if (auto holds = limitThatHolds(symbol, *found)) {
        reason.flip =
            "loosen the gate to `" +
            (failed.turned ? *holds + " " + failed.whole->text + " ..." : symbol + " " + *holds) +
            "`";
        edit = {RuleEdit::Kind::Replace, failed.limitAt->span, {}, *holds};
    }
}

} // namespace

bool isPriced(const Rule& rule) {
    return rule.gate.kind == Gate::Kind::Default && (!rule.isRewrite || rule.phase == "convert");
}

/// The gain by which the match competes; none when its gate refuses. Without a cost model no gate
/// is asked.
std::optional<double> Phase::admit(const Match& match) {
    if (!m_options.gain)
        return nodesSaved(match);
    const Gate& gate = match.rule->gate;
    const bool byCost =
        gate.kind == Gate::Kind::Default && (m_options.decide != Decide::Rules || gate.measured);
    if (byCost && !isPriced(*match.rule)) // what it gains shows only in what follows
        return nodesSaved(match);
    // What it gains, which may take long to find, decides nothing then.
    if (gate.kind == Gate::Kind::Condition && refusesGate(match, nullptr))
        return std::nullopt;
    const GainFunction& price =
        gate.measured && m_options.measuredGain ? m_options.measuredGain : m_options.gain;
    const Gain gain = price(graph(), match);
    if (gain.refusal && gain.refusal->code == code::rewriteType) { // no matter of its price
        auto written = replacementOf(graph(), match, inference());
        if (auto* refused = std::get_if<NotApplied>(&written)) {
            refuse(match, std::move(refused->reason), 0, std::move(refused->edit));
            return std::nullopt;
        }
    }
    if (gate.kind == Gate::Kind::Condition)
        return refusesGate(match, &gain) ? std::nullopt : std::optional(gain.us);
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
                gate.measured ? "write `gate always`" : "write `gate always`, or decide by rules",
                {{"found", "gain.us = " + numberText(gain.us)},
                 {"expected", match.rule->isRewrite ? "gain.us >= 0" : "gain.us > 0"},
                 {"by", source}}},
               RuleEdit{RuleEdit::Kind::Clause, match.rule->span, {}, "gate always;"});
    return std::nullopt;
}

/// What no program computes gains nothing: then that is the reason.
void Phase::refuseGate(const Match& match, const Gain& gain, Reason reason,
                       std::optional<RuleEdit> edit) {
    if (gain.refusal) {
        const bool isPrice = gain.refusal->code == "cost"; // one kernel could, and would be slower
        reason.message += (match.rule->isRewrite ? ": it cannot be written: "
                           : isPrice             ? ": "
                                                 : ": no single kernel computes it: ") +
                          gain.refusal->message;
        reason.facts.insert(reason.facts.end(), gain.refusal->facts.begin(),
                            gain.refusal->facts.end());
        reason.facts.push_back({"lower", gain.refusal->code});
        if (!gain.refusal->flip.empty() && !isPrice) {
            reason.flip = gain.refusal->flip;
            edit.reset();
        }
    }
    refuse(match, std::move(reason), gain.us, std::move(edit));
}

/// Whether the rule's condition refuses the match, and says what of it failed. `gain` null: it is
/// not known, and nothing is refused that depends on it.
bool Phase::refusesGate(const Match& match, const Gain* gain) {
    RootValues roots = m_options.matcher.roots;
    roots.gain = gain;
    EvaluateContext context{graph(), *match.rule, match.slots, match.dims, &match.regions, &roots};
    const Expression& condition = *match.rule->gate.condition;
    const Truth truth = evaluate(context, condition).truth();
    if (truth == Truth::True || (!gain && truth == Truth::Unknown))
        return false;
    const std::string gains =
        gain ? fmt::format(" (gain {:.4g} us, {:.4g} bytes)", gain->us, gain->bytes) : "";
    Reason reason{truth == Truth::False ? code::gate : code::unknown,
                  "the gate is false" + gains,
                  "loosen the gate, or write `gate always;`",
                  {}};
    if (truth == Truth::Unknown)
        reason.message = fmt::format("the gate is not known{}: it asks for {}", gains,
                                     missingIn(context, condition));
    RuleEdit edit{RuleEdit::Kind::Replace, condition.span, {}, "always"};
    if (auto failed = failedComparison(context, condition)) {
        const std::string found = textOfSide(failed->found), wanted = failed->wanted();
        reason.message = "the gate found " + found + ", the rule wants " + wanted + gains;
        reason.facts = {{"found", found}, {"expected", wanted}};
        loosen(*failed, reason, edit);
    }
    refuseGate(match, gain ? *gain : Gain{}, std::move(reason), std::move(edit));
    return true;
}

} // namespace fuselage
