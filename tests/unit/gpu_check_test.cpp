// SPDX-License-Identifier: Apache-2.0
// Who is refused when candidates compute different things, and what is left of a first run in which
// the device or the process ended. Candidates are those of a table; equal numbers agree.
#include "core/support/file.h"
#include "gpu/tune/candidate_check.h"
#include "gpu/tune/tune_store.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/gpu_tune_support.h"

#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace fuselage;
using namespace fuselage::testing_tune;

namespace {

SyntheticTactic computing(int result, const char* kind = "") {
    SyntheticTactic out;
    out.result = result;
    out.facts.plain = std::string_view(kind) == "plain";
    out.facts.fallback = std::string_view(kind) == "host";
    return out;
}

class Checks : public testing::Test {
protected:
    CheckedCandidates check(const SyntheticTable& table, bool hostMayJudge = false) {
        const std::vector<TuneCandidate> candidates = candidatesOf(table);
        std::vector<std::string> names;
        for (const TuneCandidate& candidate : candidates)
            names.push_back(candidate.name);
        FakeMeasurer measurer(names, {}, table);
        TrialJournal journal;
        Progress progress;
        const TacticKey key = syntheticKey("step");
        auto out =
            checkCandidates({key, candidates, hostMayJudge, {}}, measurer, journal, progress);
        EXPECT_TRUE(out);
        judges = measurer.judges;
        checked = measurer.checked;
        sound.clear();
        for (size_t i : out->sound)
            sound += names[i] + " ";
        return std::move(*out);
    }

    std::vector<std::string> judges, checked;
    std::string sound; ///< names
};

} // namespace

TEST_F(Checks, WhatDiffersFromThePlainOneIsRefusedWithBothNames) {
    const auto out =
        check({{"a", computing(1)}, {"b", computing(3)}, {"p", computing(1, "plain")}});
    EXPECT_EQ(judges, std::vector<std::string>{"p"});
    EXPECT_EQ(sound, "a p ");
    ASSERT_EQ(out.refused.size(), 1U);
    EXPECT_EQ(out.refused[0].name, "b");
    EXPECT_EQ(out.refused[0].refused, "wrong-result");
    EXPECT_EQ(out.refused[0].why, "its result differs from `p`: 2 at element 17");
}

TEST_F(Checks, ThePlainOneIsRightAgainstASingleOther) {
    check({{"a", computing(2)}, {"p", computing(1, "plain")}});
    EXPECT_EQ(sound, "p ");
}

TEST_F(Checks, APlainOneAgainstTwoThatAgreeIsOutvotedAndTheySaySo) {
    const auto out = check({{"a", computing(2)},
                            {"b", computing(2)},
                            {"c", computing(5)},
                            {"p", computing(1, "plain")}});
    EXPECT_EQ(sound, "a b ");
    ASSERT_EQ(out.refused.size(), 2U);
    EXPECT_EQ(out.refused[0].why, "its result differs from `a`: 3 at element 17");
    EXPECT_EQ(out.refused[1].why,
              "its result differs from `a`: 1 at element 17; 2 others agree against it");
    EXPECT_EQ(out.notes[0], "`p` gives something else, 2 candidates agree against it");
}

TEST_F(Checks, WithoutTwoThatAgreeThePlainOneStays) {
    check({{"a", computing(2)}, {"b", computing(3)}, {"p", computing(1, "plain")}});
    EXPECT_EQ(sound, "p ");
}

TEST_F(Checks, TheHostJudgesWhereThereIsNoPlainOneAndItIsQuick) {
    const SyntheticTable table = {
        {"a", computing(2)}, {"b", computing(2)}, {"host", computing(1, "host")}};
    check(table, true);
    EXPECT_EQ(judges, std::vector<std::string>{"host"});
    EXPECT_EQ(sound, "host ");
    check(table, false);
    EXPECT_EQ(judges, std::vector<std::string>{"a"});
    EXPECT_EQ(sound, "a b host ");
}

TEST_F(Checks, OneAgainstOneWithoutAJudgeKeepsBothAndSaysSo) {
    const auto out = check({{"a", computing(2)}, {"b", computing(1)}});
    EXPECT_EQ(sound, "a b ");
    EXPECT_NE(out.notes[0].find("no third one can tell"), std::string::npos);
    EXPECT_NE(out.notes[1].find("differs from `a`"), std::string::npos);
}

TEST_F(Checks, AJudgeThatFailsIsReplacedByTheNext) {
    SyntheticTable table = {{"a", computing(1)}, {"b", computing(1)}, {"p", computing(1, "plain")}};
    table["p"].checkFails = "wrong-result";
    check(table);
    EXPECT_EQ(judges, (std::vector<std::string>{"p", "a"}));
    EXPECT_EQ(sound, "a b ");
}

TEST_F(Checks, NothingRunsAfterTheDeviceIsGone) {
    for (const char* code : {"device.lost", "device.hung"}) {
        SyntheticTable table = {{"a", computing(1)},
                                {"b", computing(1)},
                                {"c", computing(1)},
                                {"p", computing(1, "plain")}};
        table["b"].checkFails = code;
        const auto out = check(table);
        ASSERT_TRUE(out.deviceGone);
        ASSERT_TRUE(out.culprit);
        EXPECT_EQ(out.culprit->name, "b");
        EXPECT_EQ(out.culprit->refused, code);
        EXPECT_EQ(checked.back(), "b");
    }
}

namespace {

class Trials : public testing::Test {
protected:
    std::string cache() const { return folder.path() + "/timing.cache"; }

    size_t files() const {
        size_t out = 0;
        for ([[maybe_unused]] const auto& entry :
             std::filesystem::directory_iterator(folder.path()))
            ++out;
        return out;
    }

    /// What a process leaves that ends in the middle of a first run.
    void endDuring(const std::string& candidate) {
        const pid_t child = fork();
        if (child == 0) {
            TrialJournal journal(cache(), 0);
            journal.begin(key, measured(candidate, 0));
            raise(SIGKILL);
        }
        waitpid(child, nullptr, 0);
    }

    testing_support::TemporaryFolder folder;
    const TacticKey key = syntheticKey("step");
};

} // namespace

TEST_F(Trials, WhatEndedAProcessIsRefusedByTheNext) {
    endDuring("bad");
    TuneOptions options;
    options.timingCache = cache();
    auto store = TuneStore::open(options, "", false);
    ASSERT_TRUE(store);
    const TimingEntry* entry = store->cache.find(key);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->front().name, "bad");
    EXPECT_EQ(entry->front().refused, "device.crashed");
    EXPECT_EQ(files(), 2U) << "the timing cache and its lock";
    EXPECT_TRUE(loadTimingCache(cache())->cache.find(key)) << "kept for later";
}

TEST_F(Trials, AReadOnlyStoreLeavesTheFiles) {
    endDuring("bad");
    TuneOptions options;
    options.timingCache = cache();
    auto store = TuneStore::open(options, "", true);
    ASSERT_TRUE(store);
    EXPECT_TRUE(store->cache.find(key));
    EXPECT_EQ(files(), 1U);
    EXPECT_FALSE(leftTrials(cache(), 0, false).entries().empty());
}

TEST_F(Trials, ThoseOfALivingProcessAreNotLeft) {
    TrialJournal journal(cache(), 0);
    journal.begin(key, measured("busy", 0));
    EXPECT_EQ(files(), 1U);
    EXPECT_TRUE(leftTrials(cache(), 0, true).entries().empty());
    EXPECT_FALSE(leftTrials(cache(), 1, false).entries().empty())
        << "the same process, started again";
    journal.end();
    EXPECT_EQ(files(), 0U);
}

TEST_F(Trials, OtherFilesBesideTheCacheAreNotTouched) {
    for (const char* name : {"timing.cache.trial.x", "timing.cache.trial.1.2.3.4.part", "other"})
        ASSERT_TRUE(writeFile(std::string_view("text"), folder.path() + "/" + name));
    EXPECT_TRUE(leftTrials(cache(), 0, true).entries().empty());
    EXPECT_EQ(files(), 3U);
}

TEST_F(Trials, WithoutATimingCacheOnlyWhatIsCondemnedIsKept) {
    TuneOptions options;
    auto store = TuneStore::open(options, folder.path(), false);
    ASSERT_TRUE(store);
    CandidateRecord bad = measured("bad", 0);
    bad.refused = "device.lost";
    store->cache.add(key, {measured("good", 3), bad});
    ASSERT_TRUE(store->save());
    auto next = TuneStore::open(options, folder.path(), false);
    ASSERT_TRUE(next && next->cache.find(key));
    ASSERT_EQ(next->cache.find(key)->size(), 1U);
    EXPECT_EQ(next->cache.find(key)->front().name, "bad");
}

TEST_F(Trials, WhatIsLearnedIsWrittenAtOnceThenNowAndThen) {
    TuneOptions options;
    options.timingCache = cache();
    auto store = TuneStore::open(options, "", false);
    ASSERT_TRUE(store);
    auto learn = [&](const char* step, double everySeconds) {
        store->cache.add(syntheticKey(step), {measured("a", 3)});
        store->learned(everySeconds);
        return loadTimingCache(cache())->cache.entries().size();
    };
    EXPECT_EQ(learn("first", 3600), 1U);
    EXPECT_EQ(learn("second", 3600), 1U);
    EXPECT_EQ(learn("third", 0), 3U);
    EXPECT_EQ(store->measuredKeys(), 3U);
}

TEST_F(Trials, WhatIsCondemnedOutlivesAMeasurementButACrashDoesNot) {
    for (const char* code : {"wrong-result", "device.lost", "device.hung", "device.crashed"}) {
        CandidateRecord bad = measured("a", 0);
        bad.rounds = 0;
        bad.refused = code;
        TimingCache one, two;
        one.add(key, {bad});
        one.add(key, {measured("a", 3)});
        two.add(key, {measured("a", 3)});
        two.add(key, {bad});
        EXPECT_EQ(one.text(), two.text());
        EXPECT_EQ(isCondemned(one.find(key)->front()), code != std::string("device.crashed"));
    }
}
