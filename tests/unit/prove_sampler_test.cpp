// SPDX-License-Identifier: Apache-2.0
// What the sampler of the numeric proof can make: a node of nearly every operator, shapes that are
// cut and put together again, packed weights.
#include "app/pipeline/prove/proof.h"
#include "app/pipeline/prove/regroup.h"
#include "app/pipeline/prove/sample.h"
#include "core/ops/op_table.h"
#include "core/support/file.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

using namespace fuselage;

namespace {

app::RuleLibrary rulesOf(const std::string& rules) {
    app::RuleOptions options;
    options.builtin = false;
    options.texts.push_back({"rules.fuse", "fuse 1;\n" + rules});
    auto library = app::requireRuleLibrary(options);
    EXPECT_TRUE(library) << library.error().text();
    return std::move(*library);
}

} // namespace

/// A rule that names one of tests/prove/unsampled.txt is proved by its own tests alone: W0503 says
/// so. Whoever teaches the sampler one of them deletes its line.
TEST(Sampler, MakesANodeOfNearlyEveryOperator) {
    std::set<std::string> never;
    std::istringstream lines(
        *readFile(std::string(FUSELAGE_SOURCE_DIR) + "/tests/prove/unsampled.txt"));
    for (std::string line; std::getline(lines, line);)
        if (!line.empty() && line[0] != '#')
            never.insert(line);
    std::string text;
    for (size_t i = 2; i < static_cast<size_t>(Op::Count_); ++i) {
        const Op op = static_cast<Op>(i);
        const std::string name = std::string(domainOf(op)).empty()
                                     ? nameOf(op)
                                     : std::string(domainOf(op)) + "." + nameOf(op);
        text += "rule R" + std::to_string(i) + " { match { y = " + name + "; } }\n";
    }
    const app::RuleLibrary library = rulesOf(text);
    Progress progress;
    std::set<std::string> found;
    for (const Rule& rule : library.loaded.rules.rules) {
        const auto prepared = prepareRule(rule);
        app::PairCoverage coverage;
        bool isMade = false;
        for (uint64_t attempt = 1; attempt <= 60 && !isMade; ++attempt) {
            app::Choices choices(app::sampleSeed(1, attempt), coverage);
            isMade = app::generateSample(*prepared, choices, progress).has_value();
        }
        if (!isMade)
            found.insert(rule.terms[0].text);
    }
    EXPECT_EQ(found, never);
}

TEST(Sampler, ShapesAreCutAndPutTogetherAlike) {
    app::PairCoverage coverage;
    app::Choices choices(1, coverage);
    app::Partings partings;
    partings.note({2, 5, 12}, {2, 5, 3, 4});
    const auto apart = app::inGroups({7, 1, 12}, app::KnownDimensions(4), partings, choices);
    EXPECT_EQ(apart, (Extents{7, 1, 3, 4}));
    const auto together =
        app::inGroups({7, 1, 3, 4}, {std::nullopt, std::nullopt, 12}, partings, choices);
    EXPECT_EQ(together, (Extents{7, 1, 12}));
    EXPECT_EQ(partings.again({3, 4, 9}, choices), (Extents{12, 9}));
    EXPECT_EQ(partings.again({9, 9}, choices), std::nullopt);
    EXPECT_EQ(app::inGroups({2, 3}, {}, partings, choices), std::nullopt);
    // More than any tensor has, as a rule may say it: at once all the same.
    const int64_t whole = 3LL << 60;
    const auto large = app::inGroups({whole}, app::KnownDimensions(3), partings, choices);
    ASSERT_TRUE(large);
    EXPECT_EQ(app::productOf(*large), whole);
}
