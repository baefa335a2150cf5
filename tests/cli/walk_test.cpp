// SPDX-License-Identifier: Apache-2.0
// Every command with what goes wrong in practice: files that are missing, empty, cut off or of
// another kind, numbers out of range, outputs that cannot be written, streams that are closed,
// Ctrl-C. Each answer has its exit code, names the thing and one fix, and leaves nothing behind.
#include "tests/cli/cli.h"

#include <cctype>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <unistd.h>

using namespace fuselage::cli_test;
using fuselage::testing_support::runProcess;

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != std::string::npos;
}

class CliWalk : public Command {
protected:
    void SetUp() override { zoo("lstm"); }

    /// Refused with that code by "fuselage: ..." in lower case, which names `thing`, with a fix.
    void expectAnswer(const Words& words, int exitCode, const std::string& thing) const {
        expectRefused(words, exitCode, {"fuselage: ", thing, "\n  fix: "});
        const std::string errors = run(words).errors;
        const size_t begin = errors.find(thing);
        EXPECT_LT(errors.size(), 10'000U) << "one screen";
        ASSERT_LT(begin, errors.size());
        const std::string message = errors.substr(errors.find(": ", begin + thing.size()) + 2);
        EXPECT_FALSE(std::isupper(static_cast<unsigned char>(message[0]))) << errors;
    }

    /// By a shell, which opens the streams; `command` sees the program as $0.
    ProcessResult shell(const std::string& command) const {
        auto ran = runProcess({"sh", "-c", command, FUSELAGE_PROGRAM}, {folder.path(), {}});
        EXPECT_TRUE(ran) << ran.error().text();
        return ran ? *ran : ProcessResult{};
    }
};

/// `words` with each "{}" replaced.
Words with(Words words, const std::string& name) {
    for (std::string& word : words)
        for (size_t at = word.find("{}"); at != std::string::npos; at = word.find("{}"))
            word.replace(at, 2, name);
    return words;
}

const Words ofModels[] = {
    {"fuse", "{}"},
    {"bench", "{}"},
    {"inspect", "{}"},
    {"explain", "{}"},
    {"run", "{}"},
    {"tactics", "{}"},
    {"quantize", "{}"},
    {"derive", "{}", "--nodes", "a"},
    {"reduce", "{}", "-o", "small.onnx", "--", "false"},
    {"check", "rule.fuse", "-m", "{}"},
};

const Words ofRules[] = {
    {"check", "{}"},
    {"test", "{}"},
    {"fuse", "lstm.onnx", "-p", "{}"},
    {"bench", "lstm.onnx", "-p", "{}"},
    {"explain", "lstm.onnx", "-p", "{}"},
    {"quantize", "lstm.onnx", "-p", "{}"},
};

const Words ofResults[] = {
    {"compare", "{}", "good.json"},
    {"compare", "good.json", "{}"},
    {"merge", "{}", "-o", "merged"},
    {"baseline", "update", "{}", "--baseline", "base"},
};

} // namespace

TEST_F(CliWalk, ModelsThatAreNoneAreNamed) {
    const std::string model = readAll(folder.file("lstm.onnx"));
    folder.write("rule.fuse", "fuse 1;\nrule R { match { y = Relu(Softplus(x)); } }\n");
    folder.write("empty.onnx", "");
    folder.write("cut.onnx", model.substr(0, 3000));
    folder.write("text.onnx", "this is a text\n");
    fs::create_directory(folder.file("folder.onnx"));
    for (const Words& words : ofModels)
        for (const char* name :
             {"missing.onnx", "empty.onnx", "cut.onnx", "text.onnx", "folder.onnx"})
            expectAnswer(with(words, name), ExitInput, name);
}

TEST_F(CliWalk, RulesThatAreNoneAreNamedOnOneScreen) {
    folder.write("bytes.fuse", std::string("\0\xff\x80garbage", 10));
    folder.write("empty.fuse", "");
    fs::create_directory(folder.file("folder"));
    for (const Words& words : ofRules)
        for (const char* name :
             {"missing.fuse", "bytes.fuse", "lstm.onnx", "folder", "empty.fuse"}) {
            ProcessResult ran = run(with(words, name));
            EXPECT_EQ(ran.exitCode, ExitInput) << words[0] << " " << name << "\n" << ran.errors;
            EXPECT_TRUE(has(ran.output + ran.errors, name)) << ran.errors;
            EXPECT_TRUE(has(ran.output + ran.errors, "  fix: ")) << ran.errors;
            EXPECT_LT(ran.output.size() + ran.errors.size(), 10'000U) << words[0] << " " << name;
        }
}

TEST_F(CliWalk, ResultsThatAreNoneAreNamed) {
    ASSERT_EQ(
        run({"bench", "lstm.onnx", "--no-measure", "--no-verify", "-q", "--report", "good.json"})
            .exitCode,
        ExitOk);
    folder.write("text.json", "this is a text\n");
    folder.write("other.json", "{\"schema\": 1}\n");
    folder.write("empty.json", "");
    fs::create_directory(folder.file("folder"));
    for (const Words& words : ofResults)
        for (const char* name :
             {"missing.json", "text.json", "other.json", "empty.json", "folder", "lstm.onnx"})
            expectAnswer(with(words, name), ExitInput, name);
}

TEST_F(CliWalk, FilesOfOptionsThatAreNoneAreNamed) {
    folder.write("text.toml", "this is a text\n");
    for (const Words& words : {Words{"batch", "lstm.onnx", "-o", "out", "--gate", "{}"},
                               {"batch", "lstm.onnx", "-o", "out", "--expect", "{}"},
                               {"--config", "{}", "inspect", "lstm.onnx"}}) {
        expectAnswer(with(words, "missing.toml"), ExitInput, "missing.toml");
        expectAnswer(with(words, "text.toml"), ExitUsage, "text.toml:1");
    }
}

TEST_F(CliWalk, NumbersOutOfRangeAreRefused) {
    const Words bench{"bench", "lstm.onnx"}, batch{"batch", "lstm.onnx", "-o", "out"},
        reduce{"reduce", "lstm.onnx", "-o", "small.onnx"};
    struct Row {
        Words command;
        const char* option;
        Words wrong; ///< besides those that are wrong everywhere
        Words rest;  ///< behind the option
    };
    const Row rows[] = {
        {bench, "--threads", {"-1", "1e30", "1.5", "2147483647"}, {}},
        {bench, "--seed", {"-1", "1e30", "1.5"}, {}},
        {bench, "--seconds", {"-1", "inf", "1e30"}, {}},
        {bench, "--dim", {"N=-1", "N=", "=1", "N=1.5", "N=9223372036854775807"}, {}},
        {bench, "--workspace", {"-1", "1.5", "5XB", "99999999999GiB"}, {}},
        {batch, "--jobs", {"0", "-1", "1025", "1e3"}, {}},
        {batch, "--timeout", {"0", "-1", "1e30", "10y", "inf"}, {}},
        {batch, "--memory", {"-1", "999", "1e30"}, {}},
        {batch, "--shard", {"0/1", "2/1", "1/0", "-1/2", "1"}, {}},
        {batch, "--threads", {"-1"}, {}},
        {reduce, "--timeout", {"0", "-1", "1e30", "inf"}, {"--", "false"}},
        {reduce, "--max-runs", {"0", "-1"}, {"--", "false"}},
        {reduce, "--exit", {"-1", "256"}, {"--", "false"}},
        {{"explain", "lstm.onnx"}, "--limit", {"-1"}, {}},
        {{"explain", "lstm.onnx"}, "--try", {"-1"}, {}},
        {{"derive", "lstm.onnx", "--nodes", "x"}, "--priority", {"1e3"}, {}},
        {{"quantize", "lstm.onnx"}, "--sets", {"0", "-1", "1e3"}, {}},
        {{"quantize", "lstm.onnx"}, "--percentile", {"-1", "49", "101", "inf"}, {}},
        {{"quantize", "lstm.onnx"}, "--max-error", {"-1", "inf"}, {}},
        {{"test"}, "--samples", {"0", "-1", "100001"}, {}},
        {{"test"}, "--seed", {"-1"}, {}},
        {{"zoo", "lstm"}, "--seed", {"-1"}, {}},
        {{"run", "lstm.onnx"}, "--threads", {"-1"}, {}},
        {{"tactics", "lstm.onnx"}, "--workspace", {"-1"}, {}},
        {{"calibrate", "-o", "mine.toml"}, "--seconds", {"-1", "1e300"}, {}},
        {{"baseline", "prune", "--baseline", "."}, "--keep", {"-1"}, {}},
    };
    for (const Row& row : rows) {
        Words values{"nan", "99999999999999999999", "x"};
        values.insert(values.end(), row.wrong.begin(), row.wrong.end());
        for (const std::string& value : values) {
            Words words = row.command;
            words.push_back(std::string(row.option) + "=" + value);
            words.insert(words.end(), row.rest.begin(), row.rest.end());
            expectAnswer(words, ExitUsage, row.option);
        }
    }
    EXPECT_EQ(
        run({"bench", "lstm.onnx", "--no-measure", "--no-verify", "--workspace", "8 MiB"}).exitCode,
        ExitUsage);
    EXPECT_EQ(run({"batch", "lstm.onnx", "-o", "out", "--no-verify", "--device", "t4", "--jobs",
                   "999", "--memory", "8GiB", "--timeout", "24h"})
                  .exitCode,
              ExitOk);
}

TEST_F(CliWalk, WrongCommandLinesAreAnsweredLikeAllOtherMistakes) {
    for (const char* command :
         {"fuse", "bench", "batch", "compare", "merge", "baseline", "reduce", "explain", "derive",
          "plan", "quantize", "inspect", "run", "fmt", "tactics", "cache", "completions"})
        expectRefused({command}, ExitUsage,
                      {"fuselage: ", " is required", "[usage.option]", "fix: see `fuselage ",
                       std::string(command) + " --help`"});
    expectRefused({"bench", "a.onnx", "--devise", "t4"}, ExitUsage,
                  {"`--devise", "did you mean `--device`?"});
    expectRefused({"batch", "a", "-o", "out", "--measure", "perhaps"}, ExitUsage,
                  {"--measure: `perhaps` is not one of: auto,on,off"});
    expectRefused({"baseline", "updaet"}, ExitUsage, {"fuselage: "});
    expectRefused({"bench", "a.onnx", "--device"}, ExitUsage, {"--device: the value is missing"});
}

TEST_F(CliWalk, OutputsThatCannotBeWrittenAreNamed) {
    ASSERT_EQ(
        run({"batch", "lstm.onnx", "-o", "base", "--no-verify", "--device", "t4", "-q"}).exitCode,
        ExitOk);
    folder.write("t.cache", "{\"format\":\"fuselage timing cache\",\"version\":1}\n");
    const Words bench{"bench", "lstm.onnx", "--no-measure", "--no-verify", "-q"};
    auto add = [](Words words, const Words& more) {
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    const Words commands[] = {
        {"fuse", "lstm.onnx", "-o", "{}"},
        {"fuse", "lstm.onnx", "--plan-out", "{}"},
        {"quantize", "lstm.onnx", "-q", "-o", "{}"},
        {"quantize", "lstm.onnx", "-q", "--plan-out", "{}"},
        add(bench, {"--report", "{}.json"}),
        add(bench, {"--save-fused", "{}"}),
        add(bench, {"--device", "h200", "--dump-kernels", "{}"}),
        {"batch", "lstm.onnx", "-q", "--no-verify", "--device", "t4", "-o", "{}"},
        {"zoo", "lstm", "-o", "{}"},
        {"run", "lstm.onnx", "-q", "-o", "{}"},
        {"merge", "base", "-o", "{}"},
        {"baseline", "update", "base", "--baseline", "{}"},
        {"cache", "merge", "t.cache", "-o", "{}"},
        {"reduce", "lstm.onnx", "-q", "--max-runs", "4", "-o", "{}", "--", "false"},
    };
    for (const Words& words : commands)
        for (const char* place : {"/proc/here", "lstm.onnx/here"})
            expectAnswer(with(words, place), ExitResource, place);
    expectAnswer({"calibrate", "-o", "lstm.onnx/here"}, ExitResource, "lstm.onnx/here");
    fs::create_directory(folder.file("folder"));
    expectRefused({"zoo", "lstm", "-o", "folder"}, ExitResource, {"folder: this is a folder"});
    expectRefused({"zoo", "lstm", "-o", "no/x"}, ExitResource, {"no/x: its folder does not exist"});
    expectRefused({"quantize", "lstm.onnx", "-o", "/proc/x"}, ExitResource,
                  {"/proc/x: no file can be made in its folder"});
}

TEST_F(CliWalk, DataThatIsNoneQuantisesNothing) {
    zoo("resnet18");
    fs::create_directory(folder.file("empty"));
    fs::create_directory(folder.file("text"));
    folder.write("text/input_0.pb", "this is a text\n");
    folder.write("text.fuseplan", "this is a text\n");
    folder.write("cut.fuseplan", "quantize 1\n\"/conv1/Conv\"[0] INPUT: int8\n");
    const Words quantize{"quantize", "resnet18.onnx", "-q",     "-o",
                         "out.onnx", "--plan-out",    "out.txt"};
    auto with = [&](const char* option, const char* value) {
        Words words = quantize;
        words.insert(words.end(), {option, value});
        return words;
    };
    expectAnswer(with("--data", "missing"), ExitInput, "missing");
    expectAnswer(with("--data", "empty"), ExitInput, "empty");
    expectAnswer(with("--data", "text"), ExitInput, "text/input_0.pb");
    expectAnswer(with("--plan", "missing.fuseplan"), ExitInput, "missing.fuseplan");
    expectAnswer(with("--plan", "text.fuseplan"), ExitInput, "text.fuseplan");
    expectAnswer(with("--plan", "cut.fuseplan"), ExitInput, "cut.fuseplan");
    expectAnswer(with("--skip", "rule:NoRule"), ExitUsage, "--skip");
    expectAnswer(with("--keep-float", "NoNode"), ExitUsage, "--keep-float");
    expectAnswer(with("--type", "int7"), ExitUsage, "--type");
    expectAnswer(with("--max-error", "0.1"), ExitUsage, "--max-error");
    expectAnswer(with("--block", "64"), ExitUsage, "--block");
    EXPECT_FALSE(fs::exists(folder.file("out.onnx")));
    EXPECT_FALSE(fs::exists(folder.file("out.txt")));
}

TEST_F(CliWalk, AFullDiskIsAnswerAndLeavesNothing) {
    fs::create_directory(folder.file("full"));
    const std::string mounted = "mount -t tmpfs -o size=64k tmpfs full";
    auto probe = runProcess({"unshare", "-rm", "sh", "-c", mounted}, {folder.path(), {}});
    if (!probe || probe->exitCode != 0)
        GTEST_SKIP() << "no disk can be made full here: a mount needs a namespace of its own";
    for (const char* command :
         {"fuse lstm.onnx -o full/x", "zoo lstm -o full/x",
          "bench lstm.onnx -q --no-measure --no-verify --save-fused full/x"}) {
        auto ran =
            runProcess({"unshare", "-rm", "sh", "-c",
                        mounted + " && { \"$0\" " + command + "; code=$?; ls full; exit $code; }",
                        FUSELAGE_PROGRAM},
                       {folder.path(), {}});
        ASSERT_TRUE(ran);
        EXPECT_EQ(ran->exitCode, ExitResource) << command << ran->errors;
        EXPECT_TRUE(has(ran->errors, "full/x: the file cannot be written: the disk is full"))
            << ran->errors;
        EXPECT_FALSE(has(ran->output, ".part")) << ran->output;
    }
}

TEST_F(CliWalk, OutputThatIsLostIsAnError) {
    for (const char* command :
         {"zoo", "--help", "--version", "manual", "doctor", "fmt - < /dev/null",
          "inspect lstm.onnx", "bench lstm.onnx -q --no-measure --no-verify --report -.json"}) {
        ProcessResult ran = shell(std::string("\"$0\" ") + command + " > /dev/full");
        const bool empty = std::string(command).starts_with("fmt");
        EXPECT_EQ(ran.exitCode, empty ? ExitInput : ExitResource) << command << ran.errors;
        EXPECT_EQ(has(ran.errors, "standard output: the output cannot be written"), !empty)
            << command << ran.errors;
    }
}

TEST_F(CliWalk, AClosedStreamIsNotTheNextFile) {
    ASSERT_EQ(run({"fuse", "lstm.onnx", "-o", "open.onnx"}).exitCode, ExitOk);
    for (const char* closed : {">&-", "2>&-", "<&-", ">&- 2>&- <&-"}) {
        ProcessResult ran = shell(std::string("\"$0\" fuse lstm.onnx -o closed.onnx ") + closed);
        EXPECT_EQ(ran.exitCode, ExitOk) << closed;
        EXPECT_EQ(readAll(folder.file("closed.onnx")), readAll(folder.file("open.onnx"))) << closed;
    }
}

TEST_F(CliWalk, AReaderThatGoesAwayEndsItQuietly) {
    ProcessResult ran = shell("\"$0\" check --explain all | head -1");
    EXPECT_EQ(ran.exitCode, 0);
    EXPECT_EQ(ran.errors, "");
}

TEST_F(CliWalk, InterruptedAtAnyMomentItLeavesNothingHalfWritten) {
    const int probe = ::open(folder.path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (probe < 0)
        GTEST_SKIP() << "the file system has no files without names";
    ::close(probe);
    std::mt19937_64 random(13);
    for (int i = 0; i < 20; ++i) {
        const int signal = i % 2 == 0 ? SIGINT : SIGKILL;
        Process process = start({"zoo", "unet", "-o", "unet.onnx"});
        // A moment, not a condition: any one will do.
        ::usleep(static_cast<useconds_t>(random() % 150'000));
        process.signal(signal);
        const int code = process.finish().exitCode;
        EXPECT_TRUE(code == ExitOk || code == 128 + signal) << code;
        for (const std::string& name : files())
            EXPECT_FALSE(name.ends_with(".part")) << name;
        if (fs::exists(folder.file("unet.onnx"))) {
            EXPECT_EQ(run({"inspect", "unet.onnx"}).exitCode, ExitOk);
        }
        fs::remove(folder.file("unet.onnx"));
    }
}

TEST_F(CliWalk, CtrlCEndsALongRunAtOnce) {
    // A reduction of a command that takes a while each time.
    Process process = start({"reduce", "lstm.onnx", "-o", "small.onnx", "--", "sh", "-c",
                             "echo running >&2; sleep 0.2; exit 1"});
    process.waitUntil([](const ProcessResult& soFar) { return has(soFar.errors, "runs"); });
    process.signal(SIGINT);
    EXPECT_EQ(process.finish().exitCode, ExitInterrupted);
}

TEST_F(CliWalk, PathsHoldBlanksAndLettersOfAnyLanguage) {
    const std::string name = "mo dèl/ü 模型.onnx";
    fs::create_directory(folder.file("mo dèl"));
    fs::rename(folder.file("lstm.onnx"), folder.file(name));
    EXPECT_EQ(run({"batch", "mo dèl", "-o", "out put", "--no-verify", "--device", "t4"}).exitCode,
              ExitOk);
    EXPECT_EQ(run({"compare", "out put", "out put"}).exitCode, ExitOk);
    EXPECT_EQ(run({"fuse", name, "-o", "mo dèl/f ü.onnx"}).exitCode, ExitOk);
    EXPECT_TRUE(has(readAll(folder.file("out put/results.json")), name));
    expectRefused({"inspect", "mo dèl/ö.onnx"}, ExitInput, {"mo dèl/ö.onnx: "});
}

TEST_F(CliWalk, NeitherHomeNorTerminalNorColourIsNeeded) {
    ProcessResult ran = shell("env -i HOME=/proc NO_COLOR=1 TERM=dumb \"$0\" bench lstm.onnx "
                              "--no-measure --no-verify </dev/null");
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_EQ(ran.errors, "");
    EXPECT_FALSE(has(ran.output, "\x1b"));
}
