// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/proof_diagnostics.h"

namespace fuselage::app {

namespace {

std::string subjectOf(const RuleProof& proof) {
    constexpr std::string_view form = "form ";
    return proof.rule.starts_with(form) ? "form `" + proof.rule.substr(form.size()) + "`"
                                        : "rule `" + proof.rule + "`";
}

} // namespace

void addProof(const RuleProof& proof, Diagnostics& out) {
    if (proof.passed())
        return;
    const std::string what = subjectOf(proof);
    if (proof.failing == 0) {
        Diagnostic& d = out.warning("W0503", proof.span, what + " has " + withoutSample(proof));
        d.found = proof.unfit;
        d.fix = proof.advice;
        return;
    }
    Diagnostic& d = out.error("E0501", proof.span,
                              what + " is unsound: the proof found graphs where it changes the "
                                     "result");
    d.found = proof.counterexamples[0].difference;
    if (!proof.guard.empty())
        d.fix = guardAdvice(proof);
    else
        d.fix = proof.advice;
}

} // namespace fuselage::app
