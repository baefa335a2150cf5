// SPDX-License-Identifier: Apache-2.0
// cuDNN's answers and plans in a folder: a second process neither asks the heuristics nor finishes
// a plan, and nothing that is in the folder can end it.
#include "gpu/libs/graph_plans.h"
#include "tests/fakecuda/libraries/library_run.h"
#include "tests/support/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace fuselage;
using namespace fuselage::testing_gpu;
namespace fs = std::filesystem;

namespace {

const char* const body =
    "(float[2,4,7,9] x, float[6,4,3,3] w, float[6] b) => (float[2,6,4,5] y) "
    "{ c = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x, w, b) y = Relu(c) }";

class PlanFolder : public LibraryTest {
protected:
    void SetUp() override {
        LibraryTest::SetUp();
        const std::string path = folder.path();
        m_make = [path](Device& device) { return makeCudnnSource(device, path); };
    }

    SourceRun run() {
        LibraryCase of(
            body, {{"w", weightsOf({6, 4, 3, 3})}, {"b", weightsOf({6}, DType::Float32, 7)}}, true);
        of.request.workspaceLimit = 1 << 20;
        of.request.allowed = NumericClass::Reassociated;
        return runAll(of);
    }

    std::vector<fs::path> files() const {
        std::vector<fs::path> out;
        if (fs::exists(folder.path() + "/cudnn"))
            for (const auto& entry : fs::directory_iterator(folder.path() + "/cudnn"))
                out.push_back(entry.path());
        return out;
    }

    /// What is asked of the library to plan: each of these fails.
    static void forbidPlanning() {
        fake().fail("cudnn heuristics", 5000, 0);
        for (const char* engine : {"cudnn plan e1", "cudnn plan e10"})
            fake().fail(engine, 5000, 0);
    }

    testing_support::TemporaryFolder folder;
};

} // namespace

TEST_F(PlanFolder, ASecondProcessAsksForNothing) {
    const SourceRun first = run();
    ASSERT_EQ(first.ran.size(), 3U) << first.text();
    EXPECT_EQ(files().size(), 4U) << "the answer and three plans";
    forbidPlanning();
    const SourceRun second = run();
    EXPECT_EQ(second.ran, first.ran) << second.text();
    ASSERT_EQ(second.facts.size(), first.facts.size());
    for (size_t i = 0; i < first.facts.size(); ++i) {
        EXPECT_EQ(second.facts[i].workspaceBytes, first.facts[i].workspaceBytes);
        EXPECT_EQ(second.facts[i].notes, first.facts[i].notes);
    }
    ASSERT_EQ(second.refused.size(), first.refused.size());
    EXPECT_EQ(second.refused[0].text(), first.refused[0].text());
}

TEST_F(PlanFolder, WithoutAFolderNothingIsKept) {
    m_make = [](Device& device) { return makeCudnnSource(device, {}); };
    run();
    forbidPlanning();
    EXPECT_TRUE(run().ran.empty());
}

TEST_F(PlanFolder, AnotherVersionOfTheLibraryAsksAgain) {
    run();
    setenv("FAKECUDNN_VERSION", "92000", 1);
    const SourceRun newer = run();
    EXPECT_EQ(newer.ran.size(), 3U) << newer.text();
    EXPECT_EQ(files().size(), 8U);
}

TEST_F(PlanFolder, APlanThatCannotBeRestoredIsMadeAgain) {
    run();
    fake().fail("cudnn restore", 3000, 0);
    const SourceRun again = run();
    EXPECT_EQ(again.ran.size(), 3U) << again.text();
    EXPECT_TRUE(again.failed.empty()) << again.text();
}

TEST_F(PlanFolder, DamagedFilesAreMadeAgain) {
    run();
    for (const fs::path& file : files()) {
        const auto size = fs::file_size(file);
        for (const uintmax_t cut : {size - 1, size / 2, uintmax_t{0}}) {
            fs::resize_file(file, cut);
            EXPECT_EQ(run().ran.size(), 3U);
            EXPECT_EQ(fs::file_size(file), size);
        }
    }
}

TEST_F(PlanFolder, WritersOfSeveralProcessesLeaveWholeFiles) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        const pid_t child = fork();
        if (child == 0)
            _exit(run().ran.size() == 3 ? 0 : 1);
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(files().size(), 4U);
    forbidPlanning();
    EXPECT_EQ(run().ran.size(), 3U);
}

TEST_F(PlanFolder, ARefusalIsKeptUnlessItIsOfTheMoment) {
    fake().fail("cudnn heuristics", 5000, 0); // an internal error
    EXPECT_TRUE(run().ran.empty());
    EXPECT_TRUE(files().empty());
    fake().reset();
    fake().fail("cudnn heuristics", 3000, 0); // not supported
    EXPECT_TRUE(run().ran.empty());
    EXPECT_EQ(files().size(), 1U);
    fake().reset();
    const SourceRun got = run();
    EXPECT_TRUE(got.ran.empty()) << got.text();
    ASSERT_EQ(got.refused.size(), 1U);
    EXPECT_NE(got.refused[0].message.find("CUDNN_STATUS_NOT_SUPPORTED"), std::string::npos);
}

TEST(PlanAnswer, TextThatIsNoneGivesNone) {
    using namespace gpu::cudnn;
    Configuration one;
    one.engine = 7;
    one.knobs = {{24, 21}, {40, -1}};
    one.workspaceBytes = 131;
    one.runtimeCompiled = one.tensorCore = true;
    one.numeric = NumericClass::Approximate;
    one.notes = {"a \"note\"", "tensor cores"};
    std::vector<Configuration> all;
    all.push_back(std::move(one));
    const std::string text = answerText(StoredAnswer(std::move(all)));
    auto back = parseAnswer(text);
    ASSERT_TRUE(back);
    EXPECT_EQ(answerText(*back), text);
    for (size_t cut = 0; cut < text.size(); ++cut)
        EXPECT_FALSE(parseAnswer(std::string_view(text).substr(0, cut))) << cut;
    for (const char* wrong : {"", "[]", "{}", R"({"configurations":[]})", R"({"code":"x"})",
                              R"({"configurations":[{"engine":1}]})"})
        EXPECT_FALSE(parseAnswer(wrong)) << wrong;
}
