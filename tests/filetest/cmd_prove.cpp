// SPDX-License-Identifier: Apache-2.0
// prove: rules -> one line each: sound, or caught with a counterexample of at most 4 elements a
// dimension and the guard that was suggested. The section `text` holds E0501 as it is printed,
// `verdict` the word for each rule with what it rests on or what stands in its way.
#include "app/pipeline/prove/proof.h"
#include "tests/filetest/commands.h"

#include <fmt/format.h>

namespace fuselage::filetest {

namespace {

std::string lineOf(const app::RuleProof& proof) {
    if (proof.passed())
        return fmt::format("{}: sound\n", proof.rule);
    if (proof.failing == 0)
        return fmt::format("{}: never fired: {}\n", proof.rule, proof.unfit);
    int64_t largest = proof.counterexamples[0].largestExtent;
    std::string size = largest <= 4 ? "at most 4" : std::to_string(largest);
    std::string guard = proof.guard.empty() ? "" : ", " + proof.guard + " mends it";
    return fmt::format("{}: unsound, counterexample of {} elements a dimension{}\n", proof.rule,
                       size, guard);
}

} // namespace

Outcome runProve(const CaseFile& file) {
    Outcome outcome;
    auto library = readRules(file);
    if (!library) {
        outcome.broken = library.error().text();
        return outcome;
    }
    Progress progress;
    auto proofs = app::proveRules(*library, {}, progress);
    if (!proofs) {
        outcome.broken = proofs.error().text();
        return outcome;
    }
    for (const app::RuleProof& proof : *proofs) {
        outcome.sections["output"] += lineOf(proof);
        outcome.sections["text"] += app::proofText(proof);
        outcome.sections["verdict"] += proof.rule + ": " + app::verdictText(proof) + "\n";
    }
    return outcome;
}

} // namespace fuselage::filetest
