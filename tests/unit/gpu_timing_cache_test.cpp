// SPDX-License-Identifier: Apache-2.0
// The timing cache as a file: same bytes for same content, merging in any order, writers at the
// same time, hostile lines. All figures are synthetic.
#include "core/support/file.h"
#include "gpu/tune/timing_line.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/gpu_tune_support.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace fuselage;
using namespace fuselage::testing_tune;
using testing_support::TemporaryFolder;

namespace {

CandidateRecord withEverything() {
    CandidateRecord out = measured("cublaslt 128x64 \"k2\"", 12.3456);
    out.spread = 0.25;
    out.rounds = 7;
    out.eliminated = out.fallback = true;
    out.deterministic = false;
    out.workspace = int64_t{3} << 40;
    out.registers = 168;
    out.spills = 48;
    out.numeric = NumericClass::Approximate;
    out.notes = "split-k 4\n\\ tab\t \x01 \xc3\xa9";
    return out;
}

CandidateRecord refusedRecord() {
    CandidateRecord out;
    out.name = "cudnn engine 7";
    out.refused = "workspace";
    out.why = "needs 13526016 bytes of workspace, the limit is 0";
    return out;
}

TimingCache cacheOf(std::vector<std::pair<std::string, TimingEntry>> entries) {
    TimingCache out;
    for (auto& [step, entry] : entries)
        out.add(syntheticKey(step), entry);
    return out;
}

LoadedCache parsed(const std::string& text) {
    auto out = parseTimingCache(text, "text");
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? std::move(*out) : LoadedCache{};
}

} // namespace

TEST(TimingCache, EveryFieldSurvivesTheFile) {
    const TimingCache cache = cacheOf({{"Row", {withEverything(), refusedRecord()}}});
    const LoadedCache again = parsed(cache.text());
    EXPECT_TRUE(again.problems.empty());
    EXPECT_EQ(again.cache.text(), cache.text());
    const TimingEntry* entry = again.cache.find(syntheticKey("Row"));
    ASSERT_TRUE(entry);
    EXPECT_EQ(*entry, *cache.find(syntheticKey("Row")));
    EXPECT_EQ(entry->front().median, 12.346) << "times are kept to the nanosecond";
    EXPECT_EQ(entry->front().notes, withEverything().notes);
}

TEST(TimingCache, TheFileDoesNotDependOnTheOrderOfAdditions) {
    const TimingCache a =
        cacheOf({{"b", {measured("x", 2), measured("y", 1)}}, {"a", {measured("z", 3)}}});
    const TimingCache b =
        cacheOf({{"a", {measured("z", 3)}}, {"b", {measured("y", 1)}}, {"b", {measured("x", 2)}}});
    EXPECT_EQ(a.text(), b.text());
}

TEST(TimingCache, MoreRoundsWinAndTiesAreDecidedByText) {
    CandidateRecord few = measured("x", 2), many = measured("x", 3), other = measured("x", 4);
    few.rounds = 5;
    many.rounds = other.rounds = 9;
    std::vector<CandidateRecord> records{few, many, other, refusedRecord()};
    std::set<std::string> texts;
    do {
        TimingCache cache;
        for (const CandidateRecord& record : records)
            cache.add(syntheticKey("s"), {record});
        texts.insert(cache.text());
        EXPECT_EQ(cache.find(syntheticKey("s"))->back().median, 3);
    } while (
        std::next_permutation(records.begin(), records.end(), [](const auto& a, const auto& b) {
            return recordText(a) < recordText(b);
        }));
    EXPECT_EQ(texts.size(), 1U);
}

TEST(TimingCache, AMeasurementReplacesARefusal) {
    CandidateRecord once = refusedRecord(), now = measured(once.name, 5);
    for (const TimingEntry& order : {TimingEntry{once, now}, TimingEntry{now, once}})
        EXPECT_EQ(cacheOf({{"s", order}}).find(syntheticKey("s"))->front().refused, "");
}

TEST(TimingCache, BrokenLinesAreNamedAndSkipped) {
    const std::string good = timingLine(syntheticKey("good"), {measured("x", 1)});
    const std::string start = R"({"step":"s","device":"d","software":"v","key":"k","candidates":)";
    const std::vector<std::pair<std::string, std::string>> broken = {
        {"{", "column 2"},
        {good.substr(0, good.size() / 2), "column"},
        {good + "x", "column"},
        {"[]", "no object"},
        {R"({"step":"s"})", "`device`"},
        {start + "1}", "`candidates` is not an array"},
        {start + "[1]}", "no object"},
        {start + R"([{"name":"x"}]})", "`us` is not present"},
        {start + R"([{"name":"x","us":-1,"rounds":5}]})", "`us`"},
        {start + R"([{"name":"x","us":1e999,"rounds":5}]})", "overflow"},
        {start + R"([{"name":"x","us":1,"rounds":99999999999}]})", "`rounds`"},
        {start + R"([{"name":"x","us":1,"rounds":0}]})", "`rounds`"},
        {start + R"([{"name":"x","us":1,"rounds":5,"workspace":-4}]})", "`workspace`"},
        {start + R"([{"name":"x","us":1,"rounds":5,"numeric":"good"}]})", "`numeric`"},
        {start + R"([{"name":"x","us":1,"rounds":5,"secret":1}]})", "`secret` is not known"},
        {start + R"([{"name":"x","us":1,"rounds":18446744073709551615}]})", "`rounds`"},
        {start + R"([{"name":"x","us":1,"rounds":5,"workspace":18446744073709551615}]})",
         "`workspace`"},
        {start + R"([{"name":"x","us":1,"rounds":2.5}]})", "`rounds`"},
        {start + std::string(100, '[') + std::string(100, ']') + "}", "no object"},
        {start + "\"" + std::string(2 << 20, 'a') + "\"}", "longer than"},
        {start + "\"\xff\"}", "UTF-8"},
    };
    for (const auto& [line, message] : broken) {
        const LoadedCache read =
            parsed(timingCacheHeader() + "\n" + good + "\n" + line + "\n" + good + "\n");
        ASSERT_EQ(read.problems.size(), 1U) << line;
        EXPECT_EQ(read.problems[0].line, 3U);
        EXPECT_NE(read.problems[0].message.find(message), std::string::npos)
            << line << ": " << read.problems[0].message;
        EXPECT_EQ(read.cache.entries().size(), 1U);
    }
}

TEST(TimingCache, EveryPrefixOfAFileIsReadWithoutHarm) {
    const std::string text = cacheOf({{"Row", {withEverything(), refusedRecord()}}}).text();
    const size_t header = timingCacheHeader().size();
    for (size_t size = header; size < text.size() - 1; ++size) {
        const LoadedCache read = parsed(text.substr(0, size));
        EXPECT_EQ(read.cache.entries().size(), 0U);
        EXPECT_EQ(read.problems.size(), size > header + 1 ? 1U : 0U) << size;
    }
}

TEST(TimingCache, AnotherFileIsNeverReplaced) {
    TemporaryFolder folder;
    folder.write("model.onnx", "not a cache\n");
    folder.write("newer", R"({"format":"fuselage timing cache","version":2})");
    for (const char* name : {"model.onnx", "newer"}) {
        auto saved = saveTimingCache(cacheOf({{"s", {measured("x", 1)}}}), folder.file(name));
        ASSERT_FALSE(saved);
        EXPECT_EQ(saved.error().code, "cache.format");
    }
    std::ifstream kept(folder.file("model.onnx"));
    std::string line;
    std::getline(kept, line);
    EXPECT_EQ(line, "not a cache");
}

TEST(TimingCache, AMissingFileIsEmptyAndAFolderIsAnError) {
    TemporaryFolder folder;
    auto missing = loadTimingCache(folder.file("none"));
    ASSERT_TRUE(missing);
    EXPECT_TRUE(missing->cache.entries().empty());
    auto wrong = loadTimingCache(folder.path());
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, "cache.read");
}

TEST(TimingCache, ProcessesThatWriteAtTheSameTimeLoseNothing) {
    TemporaryFolder folder;
    const std::string path = folder.file("cache");
    constexpr int writers = 4, keys = 5;
    std::vector<pid_t> children;
    for (int writer = 0; writer < writers; ++writer) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            bool good = true;
            for (int key = 0; key < keys; ++key)
                good &= static_cast<bool>(saveTimingCache(
                    cacheOf(
                        {{std::to_string(writer) + "." + std::to_string(key), {measured("x", 1)}}}),
                    path));
            ::_exit(good ? 0 : 1);
        }
        children.push_back(child);
    }
    for (pid_t child : children) {
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    auto read = loadTimingCache(path);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->problems.empty());
    EXPECT_EQ(read->cache.entries().size(), size_t{writers} * keys);
}

TEST(TacticRanking, TiesGoToDeterminismThenWorkspaceThenName) {
    CandidateRecord fast = measured("d", 10), b = measured("b", 10.15), c = measured("c", 10.1);
    fast.deterministic = false;
    b.workspace = c.workspace = 64;
    CandidateRecord a = measured("a", 10.19);
    a.workspace = 128;
    EXPECT_EQ(chosen({fast, a, b, c}), "b") << "b and c are equal but for their names";
    b.workspace = 65;
    EXPECT_EQ(chosen({fast, a, b, c}), "c");
    EXPECT_EQ(chosen({fast, a}), "a") << "deterministic though it wants workspace";
}

TEST(TacticRanking, TheTieBandIsTwoPercentOrThreeTenths) {
    EXPECT_EQ(chosen({measured("b", 100), measured("a", 102)}), "a");
    EXPECT_EQ(chosen({measured("b", 100), measured("a", 102.001)}), "b");
    EXPECT_EQ(chosen({measured("b", 2), measured("a", 2.3)}), "a");
    EXPECT_EQ(chosen({measured("b", 2), measured("a", 2.301)}), "b");
}

TEST(TacticRanking, EliminatedCandidatesAndLastResortsComeAfterTheOthers) {
    CandidateRecord slow = measured("slow", 50), given = measured("given up", 1);
    CandidateRecord host = measured("host", 0.5);
    given.eliminated = true;
    host.fallback = true;
    const TimingEntry entry{host, given, refusedRecord(), slow};
    std::vector<std::string> order;
    for (size_t index : ranking(entry))
        order.push_back(entry[index].name);
    EXPECT_EQ(order, (std::vector<std::string>{"slow", "given up", "host"}));
}
