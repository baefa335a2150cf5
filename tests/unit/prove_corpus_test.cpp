// SPDX-License-Identifier: Apache-2.0
// Rules whose soundness is known: all of tests/prove/unsound.fuse are caught, none of sound.fuse.
#include "app/pipeline/prove/proof.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

std::vector<app::RuleProof> proofsOf(const std::string& file, uint64_t seed) {
    app::RuleOptions options;
    options.builtin = false;
    options.paths = {std::string(FUSELAGE_SOURCE_DIR) + "/tests/prove/" + file};
    auto library = app::requireRuleLibrary(options);
    EXPECT_TRUE(library) << library.error().text();
    app::ProofOptions proving;
    proving.seed = seed;
    Progress progress;
    auto proofs = app::proveRules(*library, proving, progress);
    EXPECT_TRUE(proofs);
    return std::move(*proofs);
}

} // namespace

TEST(ProofCorpus, UnsoundRulesAreCaught) {
    const auto proofs = proofsOf("unsound.fuse", 1);
    EXPECT_EQ(proofs.size(), 77U);
    for (const app::RuleProof& proof : proofs)
        EXPECT_GT(proof.failing, 0U) << proof.rule;
}

TEST(ProofCorpus, SoundRulesAreNotBlamed) {
    for (uint64_t seed : {1, 2, 3}) {
        const auto proofs = proofsOf("sound.fuse", seed);
        EXPECT_EQ(proofs.size(), 30U);
        for (const app::RuleProof& proof : proofs) {
            EXPECT_GT(proof.samples, 0U) << proof.rule;
            EXPECT_EQ(proof.failing, 0U) << app::proofText(proof);
        }
    }
}
