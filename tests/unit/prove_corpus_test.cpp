// SPDX-License-Identifier: Apache-2.0
// Rules whose soundness is known: all of tests/prove/unsound.fuse are caught, none of sound.fuse;
// the exact level proves none that is wrong, and most of the library.
#include "app/pipeline/prove/proof.h"
#include "core/algebra/exact_proof.h"
#include "core/support/file.h"
#include "tests/bench/lawful.h"
#include "tests/bench/mutants.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

app::RuleLibrary libraryOf(const std::string& file) {
    app::RuleOptions options;
    options.builtin = file.empty();
    if (!file.empty())
        options.paths = {std::string(FUSELAGE_SOURCE_DIR) + "/tests/prove/" + file};
    auto library = app::requireRuleLibrary(options);
    EXPECT_TRUE(library) << library.error().text();
    return std::move(*library);
}

std::vector<app::RuleProof> proofsOf(const std::string& file, uint64_t seed) {
    app::ProofOptions proving;
    proving.seed = seed;
    Progress progress;
    auto proofs = app::proveRules(libraryOf(file), proving, progress);
    EXPECT_TRUE(proofs);
    return std::move(*proofs);
}

/// Where the bracket at `at` is closed.
size_t closed(const std::string& text, size_t at) {
    for (int depth = 1; depth > 0;) {
        at = text.find_first_of("{}", at + 1);
        depth += text.at(at) == '{' ? 1 : -1;
    }
    return at;
}

/// The rule of a file with one condition more; `name`: where its name stands.
std::string withCondition(const std::string& text, const Span& name, const std::string& condition) {
    const size_t begin = text.rfind("rule", name.begin);
    std::string out = text.substr(begin, closed(text, text.find('{', begin)) + 1 - begin);
    const size_t end = closed(out, out.find('{', out.find("match")));
    return out.insert(end, condition + "; ");
}

bool isProved(const Rule& rule) {
    Progress progress;
    return proveExactly(rule, progress).level != ExactProof::Level::None;
}

} // namespace

TEST(ProofCorpus, UnsoundRulesAreCaught) {
    const auto proofs = proofsOf("unsound.fuse", 1);
    EXPECT_EQ(proofs.size(), 180U);
    for (const app::RuleProof& proof : proofs) {
        EXPECT_GT(proof.failing, 0U) << proof.rule;
        EXPECT_STREQ(app::verdictOf(proof), "unsound") << proof.rule;
    }
}

TEST(ProofCorpus, SoundRulesAreNotBlamed) {
    for (uint64_t seed : {1, 2, 3}) {
        const auto proofs = proofsOf("sound.fuse", seed);
        EXPECT_EQ(proofs.size(), 56U);
        for (const app::RuleProof& proof : proofs) {
            EXPECT_GT(proof.samples, 0U) << proof.rule;
            EXPECT_EQ(proof.failing, 0U) << app::proofText(proof);
        }
    }
}

/// On graphs that the search for them did not see.
TEST(ProofCorpus, ConditionsThatAreOfferedHold) {
    const app::RuleLibrary library = libraryOf("unsound.fuse");
    const auto proofs = proofsOf("unsound.fuse", 5);
    const std::string text =
        *readFile(std::string(FUSELAGE_SOURCE_DIR) + "/tests/prove/unsound.fuse");
    size_t offered = 0;
    for (const app::RuleProof& proof : proofs) {
        if (!proof.guard.starts_with("`where ") ||
            proof.guard.find('`', 1) + 1 < proof.guard.size())
            continue;
        ++offered;
        app::RuleOptions options;
        options.builtin = false;
        const std::string condition = proof.guard.substr(1, proof.guard.size() - 2);
        options.texts.push_back({"guarded.fuse", "fuse 1;\nopset >= 23;\n" +
                                                     withCondition(text, proof.span, condition)});
        const auto guarded = app::requireRuleLibrary(options);
        ASSERT_TRUE(guarded) << guarded.error().text();
        app::ProofOptions proving;
        proving.seed = 500;
        Progress progress;
        for (const Rule& rule : guarded->loaded.rules.rules) {
            const app::RuleProof again = app::proveRule(rule, proving, progress);
            EXPECT_EQ(again.failing, 0U) << proof.guard << "\n" << app::proofText(again);
        }
    }
    EXPECT_GE(offered, 15U);
}

/// Those for other runtimes too: W0503 for none of them.
TEST(ProofCorpus, EveryRewriteOfTheLibraryHasSamples) {
    app::RuleOptions options;
    options.paths = {std::string(FUSELAGE_SOURCE_DIR) + "/patterns/targets"};
    const auto library = app::requireRuleLibrary(options);
    ASSERT_TRUE(library) << library.error().text();
    app::ProofOptions proving;
    proving.samples = 40;
    proving.exact = false;
    Progress progress;
    size_t rewrites = 0;
    for (const auto* rules : {&library->loaded.forms, &library->loaded.rules.rules})
        for (const Rule& rule : *rules) {
            if (!rule.isRewrite)
                continue;
            ++rewrites;
            const app::RuleProof proof = app::proveRule(rule, proving, progress);
            EXPECT_TRUE(proof.samples > 0 || !proof.open.empty() || isProved(rule))
                << rule.name << proof.unfit;
            EXPECT_EQ(proof.failing, 0U) << app::proofText(proof);
        }
    EXPECT_GE(rewrites, 50U);
}

/// Reals, halves and integers in another order, at the ends of their types too.
TEST(ProofCorpus, RulesMadeByLawsAreNotBlamed) {
    constexpr uint64_t count = 60;
    std::string text = "fuse 1;\n";
    for (uint64_t seed = 1; seed <= count; ++seed)
        text += bench::lawfulRule("Lawful" + std::to_string(seed), seed) + "\n";
    app::RuleOptions options;
    options.builtin = false;
    options.texts.push_back({"lawful.fuse", text});
    const auto library = app::requireRuleLibrary(options);
    ASSERT_TRUE(library) << library.error().text() << text;
    app::ProofOptions proving;
    proving.exact = false;
    Progress progress;
    uint64_t sampled = 0;
    for (const Rule& rule : library->loaded.rules.rules) {
        ++proving.seed;
        const app::RuleProof proof = app::proveRule(rule, proving, progress);
        sampled += proof.samples > 0 ? 1 : 0;
        EXPECT_EQ(proof.failing, 0U) << app::proofText(proof) << text.substr(rule.span.begin, 200);
    }
    EXPECT_GE(sampled, count - 3);
}

/// Without the samples, which would hide what the algebra does.
TEST(ExactLevel, ProvesNothingThatIsWrong) {
    for (const char* file : {"unsound.fuse", "nearly.fuse"}) {
        const app::RuleLibrary library = libraryOf(file);
        EXPECT_GE(library.loaded.rules.rules.size(), 30U);
        for (const Rule& rule : library.loaded.rules.rules)
            EXPECT_FALSE(isProved(rule)) << file << ": " << rule.name;
    }
}

TEST(ExactLevel, ProvesWhatHolds) {
    const app::RuleLibrary library = libraryOf("sound.fuse");
    size_t proved = 0;
    for (const Rule& rule : library.loaded.rules.rules)
        proved += isProved(rule) ? 1 : 0;
    EXPECT_GE(proved, 26U);
}

/// At least 60 of 100 rewrites and forms of the library; the others say why not.
TEST(ExactLevel, WhatItCallsTheSameBitsHasThemInEverySample) {
    size_t exact = 0;
    for (const char* file : {"", "sound.fuse"}) {
        app::RuleLibrary library = libraryOf(file);
        std::vector<Rule>& rules = library.loaded.rules.rules;
        Progress progress;
        std::erase_if(rules, [&](Rule& rule) {
            rule.numeric = NumericClass::Approximate; // else the level is asked for bits alone
            return proveExactly(rule, progress).level != ExactProof::Level::Bits;
        });
        for (Rule& rule : rules)
            rule.numeric = NumericClass::Exact;
        auto proofs = app::proveRules(library, {}, progress);
        ASSERT_TRUE(proofs);
        for (const app::RuleProof& proof : *proofs)
            EXPECT_EQ(proof.failing, 0U) << app::proofText(proof);
        exact += rules.size();
    }
    EXPECT_GE(exact, 20U);
}

TEST(ExactLevel, ProvesMostOfTheLibrary) {
    const app::RuleLibrary library = libraryOf("");
    size_t rewrites = 0, proved = 0;
    Progress progress;
    for (const auto* rules : {&library.loaded.forms, &library.loaded.rules.rules})
        for (const Rule& rule : *rules) {
            const ExactProof proof = proveExactly(rule, progress);
            const bool isProven = proof.level != ExactProof::Level::None;
            EXPECT_NE(isProven, !proof.obstacle.empty()) << rule.name;
            rewrites += rule.isRewrite ? 1 : 0;
            proved += isProven ? 1 : 0;
        }
    EXPECT_GE(rewrites, 40U);
    EXPECT_GE(100 * proved, 60 * rewrites);
}

/// Every mutant of the library that is proved agrees on samples too.
TEST(ExactLevel, ProvesNoMutantThatDiffers) {
    const app::RuleLibrary library = libraryOf("");
    size_t mutants = 0, proved = 0;
    Progress progress;
    app::ProofOptions samples;
    samples.seed = 77;
    samples.samples = 60;
    samples.exact = false;
    for (const auto* rules : {&library.loaded.forms, &library.loaded.rules.rules})
        for (const Rule& rule : *rules) {
            if (!rule.isRewrite)
                continue;
            for (const bench::Mutant& mutant : bench::mutantsOf(rule)) {
                ++mutants;
                if (!isProved(mutant.rule))
                    continue;
                ++proved;
                EXPECT_EQ(app::proveRule(mutant.rule, samples, progress).failing, 0U)
                    << rule.name << ": " << mutant.kind << ", " << mutant.what;
            }
        }
    EXPECT_GE(mutants, 600U);
    EXPECT_GE(proved, 1U);
    EXPECT_LT(proved, mutants / 3);
}
