// SPDX-License-Identifier: Apache-2.0
// The numeric proof of rules: graphs are generated from each rule's pattern, the rule fires in
// them, and both sides are compared. A difference is shrunk to the smallest graph that shows it.
// Deterministic by seed. What passes is not false on anything that was tried: it is `tested`. What
// core/algebra finds true for all inputs besides is `proved`, or `equal over the reals` where
// roundings may part both sides.
#pragma once

#include "app/pipeline/rules.h"
#include "core/support/progress.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct ProofOptions {
    std::string rule;               ///< only this rule; empty: all
    std::vector<std::string> files; ///< only rules of these files; empty: all
    uint64_t seed = 1;
    uint32_t samples =
        0; ///< of each rule; 0: what its `verify` says, else 96 and more for open patterns, or 24
    uint32_t attempts = 40; ///< graphs tried for one sample that fits, at most
    bool exact = true;      ///< the exact level too
};

enum class ProofLevel : uint8_t {
    None,   ///< no sample, or one that differs
    Tested, ///< all samples agree
    Reals,  ///< equal for all numbers but infinite ones, roundings and overflow aside
    Bits,   ///< proved for all inputs, to the bit
};

struct Counterexample {
    uint64_t seed = 0;
    std::string graph;      ///< text, may be pasted into a test
    std::string difference; ///< which output, both values
    std::string contents;   ///< kind of the inputs
    int64_t largestExtent = 0;
};

struct RuleProof {
    std::string rule;
    std::string where;     ///< "file:line"
    bool isRewrite = true; ///< false: a fuse rule
    Span span;             ///< of the rule's name
    uint32_t samples = 0;  ///< graphs in which it fired
    uint32_t attempts = 0; ///< graphs that were generated
    uint32_t refused = 0;  ///< of these, those where it matched and the rewrite is not allowed
    uint32_t failing = 0;
    std::vector<Counterexample> counterexamples; ///< the smallest one, or none
    std::string shared;                          ///< what the failing samples have in common
    std::string guard;                           ///< what would make the rule right
    size_t guarded = 0;                          ///< samples that are left with it, all agree
    bool isGuardProved = false;                  ///< the rule with it, by the exact level
    std::string open;   ///< why no side can be run: "`com.acme.Gated` has no body"; else empty
    std::string unfit;  ///< why the last graph did not fit, when none did
    uint32_t empty = 0; ///< graphs in which it fired, where no result of any has an element
    /// What would let it fire, when it did in none; or what to write where it is wrong only of
    /// numbers that lie near those of its match.
    std::string advice;

    ProofLevel level = ProofLevel::None;
    std::vector<std::string> conditions; ///< that `proved` rests on
    std::string obstacle;                ///< why it is not proved
    std::vector<std::string> unsampled;  ///< of the pattern: what no sample has met

    /// More than samples say so.
    bool isExact() const { return level >= ProofLevel::Reals; }

    bool passed() const { return failing == 0 && (samples > 0 || isExact() || !open.empty()); }
};

/// In file order. Error "cancelled".
Result<std::vector<RuleProof>> proveRules(const RuleLibrary& library, const ProofOptions& options,
                                          Progress& progress);

/// The proof of one rule.
RuleProof proveRule(const Rule& rule, const ProofOptions& options, Progress& progress);

/// "proved", "equal over the reals", "tested", "unsound" or "without a sample".
const char* verdictOf(const RuleProof& proof);

/// The verdict with what it rests on or what stands in its way.
std::string verdictText(const RuleProof& proof);

/// "no sample: it fired in none of 1601 generated graphs", of a rule that has none.
std::string withoutSample(const RuleProof& proof);

/// What is to be said of RuleProof::guard, which is there.
std::string guardAdvice(const RuleProof& proof);

/// E0501 as a person reads it; empty when the proof passed.
std::string proofText(const RuleProof& proof);

} // namespace fuselage::app
