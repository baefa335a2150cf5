// SPDX-License-Identifier: Apache-2.0
// The folder of machine code, and activity records summed by step.
#include "gpu/runtime/cubin_cache.h"
#include "gpu/runtime/step_timer.h"
#include "tests/fakecuda/fixture.h"
#include "tests/support/temporary_folder.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace fuselage;
using namespace fuselage::gpu;

/// Machine code that says what it was made of; counts how often it was asked.
class CountingCompiler final : public Nvrtc {
public:
    explicit CountingCompiler(std::string version = "13.0") : m_version(std::move(version)) {}

    std::string version() const override { return m_version; }

    std::vector<std::string> architectures() const override { return {"sm_90"}; }

    Result<CompiledKernel> compile(const KernelText& kernel,
                                   const CompileOptions& options) override {
        ++calls;
        if (kernel.source == "wrong")
            return failure("nvrtc.compile", "wrong text");
        CompiledKernel out;
        out.cubin = kernel.source + " for " + options.arch + std::string("\n\0x", 3);
        out.registers = 40;
        out.localBytes = 8;
        return out;
    }

    std::atomic<int> calls{0};

private:
    std::string m_version;
};

KernelText textOf(const std::string& source) {
    KernelText out;
    out.name = "k";
    out.source = source;
    return out;
}

class Cubins : public testing::Test {
protected:
    std::string path() const { return folder.path() + "/cache"; }

    std::vector<std::filesystem::path> entries() const {
        std::vector<std::filesystem::path> out;
        for (const auto& entry : std::filesystem::directory_iterator(path() + "/cubin"))
            out.push_back(entry.path());
        return out;
    }

    testing_support::TemporaryFolder folder;
    std::shared_ptr<CountingCompiler> compiler = std::make_shared<CountingCompiler>();
};

TEST_F(Cubins, AreReadByTheNextProcess) {
    auto made = CubinCache(compiler, path()).compile(textOf("a"), {});
    CubinCache next(compiler, path());
    auto read = next.compile(textOf("a"), {});
    ASSERT_TRUE(made && read);
    EXPECT_EQ((*read)->cubin, (*made)->cubin);
    EXPECT_EQ((*read)->registers, 40U);
    EXPECT_EQ((*read)->localBytes, 8U);
    EXPECT_EQ(compiler->calls, 1);
    EXPECT_EQ(next.found(), 1U);
}

TEST_F(Cubins, EverythingThatDecidesTheCodeIsInTheKey) {
    CubinCache cache(compiler, path());
    CompileOptions other;
    other.arch = "sm_80";
    CompileOptions exact;
    exact.contraction = false;
    ASSERT_TRUE(cache.compile(textOf("a"), {}));
    ASSERT_TRUE(cache.compile(textOf("b"), {}));
    ASSERT_TRUE(cache.compile(textOf("a"), other));
    ASSERT_TRUE(cache.compile(textOf("a"), exact));
    CubinCache newer(std::make_shared<CountingCompiler>("13.1"), path());
    ASSERT_TRUE(newer.compile(textOf("a"), {}));
    EXPECT_EQ(newer.compiled(), 1U);
    EXPECT_EQ(entries().size(), 5U);
}

TEST_F(Cubins, ADamagedFileIsMadeAgain) {
    ASSERT_TRUE(CubinCache(compiler, path()).compile(textOf("a"), {}));
    const auto file = entries().front();
    const auto size = std::filesystem::file_size(file);
    for (const auto cut : {size - 1, size / 2, size * 0}) {
        std::filesystem::resize_file(file, cut);
        auto again = CubinCache(compiler, path()).compile(textOf("a"), {});
        ASSERT_TRUE(again);
        EXPECT_EQ(std::filesystem::file_size(file), size);
    }
    EXPECT_EQ(compiler->calls, 4);
}

TEST_F(Cubins, AFailureIsNotKept) {
    CubinCache cache(compiler, path());
    EXPECT_FALSE(cache.compile(textOf("wrong"), {}));
    EXPECT_FALSE(cache.compile(textOf("wrong"), {}));
    EXPECT_EQ(compiler->calls, 2);
}

TEST_F(Cubins, AFolderThatCannotBeWrittenCostsOnlyTime) {
    std::ofstream(path()) << "a file is in the way";
    CubinCache cache(compiler, path());
    EXPECT_TRUE(cache.compile(textOf("a"), {}));
}

TEST_F(Cubins, WhatAKilledProcessLeftIsClearedByALaterOne) {
    ASSERT_TRUE(CubinCache(compiler, path()).compile(textOf("a"), {}));
    const std::string old = path() + "/cubin/0123.77-1.part",
                      young = path() + "/cubin/4567.78-1.part";
    for (const std::string& file : {old, young})
        std::ofstream(file) << "half";
    std::filesystem::last_write_time(old, std::filesystem::file_time_type::clock::now() -
                                              std::chrono::hours(2));
    ASSERT_TRUE(CubinCache(compiler, path()).compile(textOf("b"), {}));
    EXPECT_FALSE(std::filesystem::exists(old));
    EXPECT_TRUE(std::filesystem::exists(young)) << "its writer may be at work";
}

TEST_F(Cubins, KilledAtAnyMomentAWriterLeavesWholeFilesOnly) {
    std::mt19937_64 random(5);
    // Long texts: writing one takes a while.
    auto text = [](int i) { return textOf(std::to_string(i) + std::string(1 << 16, 'x')); };
    constexpr int kernels = 40;
    for (int round = 0; round < 50; ++round) {
        const pid_t child = fork();
        if (child == 0) {
            CubinCache cache(compiler, path());
            for (int i = 0; i < kernels; ++i)
                (void)cache.compile(text(i), {});
            _exit(0);
        }
        // A moment, not a condition: any one will do.
        usleep(static_cast<useconds_t>(random() % 20'000));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        if (!std::filesystem::exists(path() + "/cubin"))
            continue;
        uint32_t whole = 0;
        for (const auto& file : entries())
            whole += file.extension() != ".part";
        // A file that is not whole would be compiled again.
        CubinCache next(compiler, path());
        for (int i = 0; i < kernels; ++i)
            ASSERT_TRUE(next.compile(text(i), {}));
        EXPECT_EQ(next.found(), whole) << "round " << round;
        // Back to a random part, so that the next round writes too.
        for (const auto& file : entries())
            if (file.extension() == ".part" || random() % 2 == 0)
                std::filesystem::remove(file);
    }
}

TEST_F(Cubins, WritersOfOneFolderDoNotDisturbEachOther) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    CubinCache shared(compiler, path());
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            CubinCache own(compiler, path());
            CubinCache& cache = t % 2 == 0 ? shared : own;
            for (int i = 0; i < 20; ++i) {
                auto kernel = cache.compile(textOf(std::to_string(i % 5)), {});
                if (!kernel || (*kernel)->cubin.find(std::to_string(i % 5)) != 0)
                    ++wrong;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(shared.compiled() + shared.found(), 5U);
}

TEST(Records, AreSummedByStepInTheOrderOfTime) {
    std::vector<KernelRecord> records = {
        {"c", 300, 340, 9}, {"a", 100, 110, 7}, {"b", 200, 220, 8}};
    std::vector<double> seconds(3, -1);
    const std::vector<uint32_t> kernels = {2, 0, 1};
    ASSERT_TRUE(sumByStep(records, kernels, seconds));
    EXPECT_NEAR(seconds[0], 30e-9, 1e-15);
    EXPECT_EQ(seconds[1], 0);
    EXPECT_NEAR(seconds[2], 40e-9, 1e-15);
}

TEST(Records, ThatAreNotThoseOfTheGraphAreRefused) {
    std::vector<double> seconds(1);
    const std::vector<uint32_t> one = {1};
    EXPECT_FALSE(sumByStep({}, one, seconds));
    EXPECT_FALSE(sumByStep({{"a", 1, 2, 0}}, one, seconds)) << "not of a graph";
    EXPECT_FALSE(sumByStep({{"a", 2, 2, 5}}, one, seconds)) << "no time";
    EXPECT_FALSE(sumByStep({{"a", 1, 2, 5}, {"b", 3, 4, 6}}, one, seconds)) << "one too many";
    EXPECT_TRUE(sumByStep({{"a", 1, 2, 5}}, one, seconds));
}

} // namespace
