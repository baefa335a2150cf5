// SPDX-License-Identifier: Apache-2.0
// The choice between ways to compute a program: by prediction, by measurements where those are
// allowed, and by a file of measurements.
#include "core/cpu/choice.h"
#include "core/cpu/choice_file.h"
#include "core/support/file.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <thread>

using namespace fuselage;
using namespace fuselage::cpu;
using testing_support::TemporaryFolder;

namespace {

/// Computes nothing, for as many rounds.
class Rounds final : public Kernel {
public:
    Rounds(const char* name, int rounds) : m_rounds(rounds) { tactic = name; }

    void run(const Operands&, RunContext&) override {
        for (volatile int i = 0; i < m_rounds;)
            i = i + 1;
    }

private:
    int m_rounds;
};

Way way(const char* name, double predicted, int rounds = 1, int* prepared = nullptr) {
    return {name, predicted, [=](const PrepareContext&) -> KernelResult {
                if (prepared)
                    ++*prepared;
                return std::unique_ptr<Kernel>(std::make_unique<Rounds>(name, rounds));
            }};
}

Way refuses(const char* name, double predicted) {
    return {name, predicted,
            [](const PrepareContext&) -> KernelResult { return failure("cpu.support", "no"); }};
}

/// The tactic that was taken; "" and the error's code where there is none.
std::string taken(const std::vector<Way>& ways, Choices* choices, const std::string& key = "k") {
    Threads threads(1);
    PrepareContext context{{}, {}, vectorTable(), threads};
    context.choices = choices;
    KernelResult kernel = prepareFastest(key, ways, context);
    if (!kernel)
        return kernel.error().code;
    EXPECT_EQ((*kernel)->fallbacks.size(), ways.size() - 1);
    return (*kernel)->tactic;
}

constexpr int slow = 2'000'000, fast = 1000;

} // namespace

TEST(Choice, NothingIsMeasuredUnlessSomebodyAsks) {
    int prepared = 0;
    Choices choices(false);
    for (Choices* given : {&choices, static_cast<Choices*>(nullptr)})
        EXPECT_EQ(taken({way("first", 1, slow, &prepared), way("second", 1, fast)}, given),
                  "first");
    EXPECT_EQ(prepared, 2) << "once for each kernel that is used";
    EXPECT_TRUE(choices.all().empty());
    EXPECT_EQ(taken({way("first", 1.2, fast), way("second", 1, slow)}, &choices), "second");
}

TEST(Choice, WaysThatAreCloseAreMeasuredOnceAKey) {
    Choices choices(true);
    int prepared = 0;
    const std::vector<Way> ways{way("first", 1, slow, &prepared), way("second", 1.3, fast)};
    EXPECT_EQ(taken(ways, &choices), "second");
    EXPECT_EQ(prepared, 1);
    EXPECT_EQ(taken(ways, &choices), "second");
    EXPECT_EQ(prepared, 1);
    EXPECT_EQ(taken(ways, &choices, "other"), "second");
    EXPECT_EQ(prepared, 2);
}

TEST(Choice, AClearPredictionIsNotMeasured) {
    Choices choices(true);
    EXPECT_EQ(taken({way("first", 1, slow), way("second", 2, fast)}, &choices), "first");
    EXPECT_TRUE(choices.all().empty());
}

TEST(Choice, AWayThatCannotBePreparedLoses) {
    for (bool measures : {false, true}) {
        Choices choices(measures);
        EXPECT_EQ(taken({way("good", 1), refuses("bad", 1)}, &choices, "a"), "good");
        EXPECT_EQ(taken({refuses("bad", 1), way("good", 1)}, &choices, "b"), "good");
        EXPECT_EQ(taken({way("good", 9), refuses("bad", 1)}, &choices, "c"), "good");
        EXPECT_EQ(taken({refuses("bad", 1), refuses("worse", 1)}, &choices, "d"), "cpu.support");
    }
}

TEST(ChoiceFile, ASecondProcessChoosesWithoutMeasuring) {
    TemporaryFolder folder;
    const std::string path = folder.file("cpu.timings"), machine = "one, 2 threads";
    const std::vector<Way> ways{way("first", 1, slow), way("second", 1, fast)};
    Choices measured(true);
    EXPECT_EQ(taken(ways, &measured, "key\nof two lines"), "second");
    EXPECT_TRUE(measured.takeChanged());
    ASSERT_TRUE(saveChoices(path, machine, measured));

    Choices known(false), elsewhere(false);
    auto damaged = loadChoices(path, machine, known);
    ASSERT_TRUE(damaged) << damaged.error().text();
    EXPECT_TRUE(damaged->empty());
    EXPECT_EQ(taken(ways, &known, "key\nof two lines"), "second");
    ASSERT_TRUE(loadChoices(path, "one, 1 thread", elsewhere));
    EXPECT_EQ(taken(ways, &elsewhere, "key\nof two lines"), "first");

    const std::string before = *readFile(path);
    ASSERT_TRUE(saveChoices(path, machine, known));
    EXPECT_EQ(*readFile(path), before) << "the same content is the same bytes";
}

TEST(ChoiceFile, DamagedLinesAreSkippedAndCounted) {
    TemporaryFolder folder;
    Choices some;
    some.add("k", {{"first", 2e-6}, {"second", 1e-6}});
    some.add("n", {{"first", std::numeric_limits<double>::infinity()}, {"second", 1e-6}});
    const std::string path = folder.file("t");
    ASSERT_TRUE(saveChoices(path, "m", some));
    const std::string good = *readFile(path);
    for (const char* line :
         {"m", "m\tk", "\tk\tfirst=1", "m\tk\tfirst", "m\tk\tfirst=", "m\tk\t=1", "m\tk\tfirst=-1",
          "m\tk\tfirst=nan", "m\tk\tfirst=1e999", "m\tk\tfirst=1x", "\x01\xff\t\t\t"}) {
        SCOPED_TRACE(line);
        folder.write("t", good + line + "\n");
        Choices read;
        auto damaged = loadChoices(path, "m", read);
        ASSERT_TRUE(damaged) << damaged.error().text();
        EXPECT_EQ(*damaged, std::vector<size_t>{4});
        EXPECT_EQ(read.all(), some.all());
    }
}

TEST(ChoiceFile, AnotherKindOfFileIsRefusedAndKept) {
    TemporaryFolder folder;
    folder.write("t", "fuselage-timing-cache 1\n");
    Choices choices;
    auto read = loadChoices(folder.file("t"), "m", choices);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, "cache.format");
    EXPECT_FALSE(saveChoices(folder.file("t"), "m", choices));
    EXPECT_EQ(*readFile(folder.file("t")), "fuselage-timing-cache 1\n");
    EXPECT_TRUE(loadChoices(folder.file("none"), "m", choices));
}

TEST(ChoiceFile, WritersAtTheSameTimeLoseNothing) {
    TemporaryFolder folder;
    constexpr int writers = 4, keys = 8;
    std::vector<std::thread> threads;
    for (int w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            for (int k = 0; k < keys; ++k) {
                Choices own;
                own.add(std::to_string(w * keys + k), {{"first", 1e-6}});
                EXPECT_TRUE(saveChoices(folder.file("t"), w % 2 ? "a" : "b", own));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const char* machine : {"a", "b"}) {
        Choices all;
        ASSERT_TRUE(loadChoices(folder.file("t"), machine, all));
        EXPECT_EQ(all.all().size(), size_t{writers * keys / 2});
    }
}
