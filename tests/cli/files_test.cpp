// SPDX-License-Identifier: Apache-2.0
// Files that are read by what they hold, and written where a path leads.
#include "core/onnx/model_file.h"
#include "core/onnx/npy_file.h"
#include "tests/cli/cli.h"

#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace fuselage::cli_test;
namespace fs = std::filesystem;

namespace {

class CliFiles : public Command {
protected:
    /// data/input_NUMBER.pb: two elements of one number.
    void give(size_t number, const std::string& name, double element) const {
        fs::create_directories(folder.file("data"));
        fuselage::Tensor tensor(fuselage::DType::Float32, {2});
        tensor.set(0, element);
        tensor.set(1, element);
        ASSERT_TRUE(fuselage::model_io::saveTensor(
            tensor, folder.file("data/input_" + std::to_string(number) + ".pb"), name));
    }

    double outputWith(std::vector<std::string> options) const {
        options.insert(options.begin(), {"run", "m.onnx", "-q", "-o", "out"});
        outputOf(options);
        auto out = fuselage::model_io::loadTensor(folder.file("out/output_0.pb"));
        return out ? out->at(0) : -1e9;
    }

    const char* difference = "g (float[2] a, float[2] b) => (float[2] y) { y = Sub(a, b) }";
};

} // namespace

TEST_F(CliFiles, InputsGoToTheNamesThatTheyHave) {
    writeText(difference);
    give(0, "b", 1);
    give(1, "a", 5);
    EXPECT_EQ(outputWith({"--inputs", "data"}), 4);
    give(0, "", 1);
    give(1, "", 5);
    EXPECT_EQ(outputWith({"--inputs", "data"}), -4) << "without names in their order";
    give(0, "b", 1);
    give(1, "other", 5);
    expectRefused({"run", "m.onnx", "--inputs", "data"}, ExitInput,
                  {"data/input_0.pb", "this is `b`, which is input 1"});
}

TEST_F(CliFiles, ArraysOfNumPyComeInAndGoOut) {
    writeText(difference);
    fs::create_directories(folder.file("data"));
    fuselage::Tensor tensor(fuselage::DType::Float32, {2});
    tensor.set(0, 5);
    folder.write("data/a.npy", *fuselage::model_io::npyOf(tensor));
    expectRefused({"run", "m.onnx", "--inputs", "data"}, ExitInput,
                  {"data/input_1.pb", "does not exist", "b.npy"});
    tensor.set(0, 2);
    folder.write("data/input_1.npy", *fuselage::model_io::npyOf(tensor));
    outputOf({"run", "m.onnx", "-q", "--inputs", "data", "-o", "out", "--npy"});
    auto out = fuselage::model_io::loadNpy(folder.file("out/output_0.npy"));
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->at(0), 3);
    expectRefused({"run", "m.onnx", "--inputs", "data", "--npy"}, ExitUsage, {"--save-outputs"});
}

TEST_F(CliFiles, ANameOfAnInputIsNoNumber) {
    writeText("g (float[2] input_1, float[2] input_0, float[2] m) => (float[2] y)"
              " { d = Sub(input_1, input_0) y = Add(d, m) }");
    fs::create_directories(folder.file("data"));
    fuselage::Tensor tensor(fuselage::DType::Float32, {2});
    const auto write = [&](const char* name, double element) {
        tensor.set(0, element);
        folder.write(std::string("data/") + name, *fuselage::model_io::npyOf(tensor));
    };
    write("input_0.npy", 1);
    write("input_1.npy", 10);
    write("m.npy", 100);
    outputOf({"run", "m.onnx", "-q", "--inputs", "data", "-o", "out", "--npy"});
    auto out = fuselage::model_io::loadNpy(folder.file("out/output_0.npy"));
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->at(0), 109);
    write("input_2.npy", 7);
    expectRefused({"run", "m.onnx", "--inputs", "data"}, ExitInput, {"`m` has another file"});
    expectRefused({"run", "m.onnx", "--inputs", "m.onnx"}, ExitInput, {"this is no folder"});
}

TEST_F(CliFiles, ATensorFileTooManyIsRefusedWhateverInputsAreCalled) {
    writeText("g (float[2] input_2, float[2] b) => (float[2] y) { y = Sub(input_2, b) }");
    for (size_t i = 0; i < 3; ++i)
        give(i, "", 1);
    expectRefused({"run", "m.onnx", "--inputs", "data"}, ExitInput,
                  {"data/input_2.pb", "the model has 2 inputs"});
}

TEST_F(CliFiles, DataThatNoInputTakesIsRefused) {
    writeText("g (float[2] a) => (float[2] y) <float[2] k = {1, 2}> { y = Mul(a, k) }");
    give(0, "a", 3);
    give(1, "k", 7);
    expectRefused({"run", "m.onnx", "--inputs", "data"}, ExitInput,
                  {"data/input_1.pb", "`k` has its value in the model"});
    give(1, "z", 7);
    expectRefused({"run", "m.onnx", "--inputs", "data"}, ExitInput,
                  {"data/input_1.pb", "the model has 1 input"});
}

TEST_F(CliFiles, NoNumbersOfAnInputAreSaidWhereALibraryMayDropThem) {
    writeText("g (float[2] a) => (float[2] y) { y = Relu(a) }");
    const auto errors = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"run", "m.onnx", "--backend", "cpu", "--inputs", "data"});
        return run(more).errors;
    };
    give(0, "a", NAN);
    EXPECT_NE(errors({"--fuse"}).find("2 of 2 elements of `a` are no numbers"), std::string::npos);
    EXPECT_EQ(errors({"--fuse", "--strict"}).find("no number"), std::string::npos);
    give(0, "a", 1);
    EXPECT_EQ(errors({"--fuse"}).find("no number"), std::string::npos);
}

TEST_F(CliFiles, FusedRunsGetTheSameGeneratedInputs) {
    writeText("g (int64[8] i, float[8] x) => (float[8] y) "
              "{ f = Cast<to=1>(i) s = Sigmoid(x) m = Mul(f, s) y = Add(m, f) }");
    for (const char* seed : {"1", "2", "3"})
        EXPECT_NEAR(outputWith({"--seed", seed}), outputWith({"--seed", seed, "--fuse"}), 1e-5);
}

TEST_F(CliFiles, ALinkStaysAndAPipeIsWrittenInto) {
    writeText(difference);
    fs::create_directories(folder.file("behind"));
    fs::create_symlink("behind/real.onnx", folder.file("link.onnx"));
    outputOf({"fuse", "m.onnx", "-q", "-o", "link.onnx"});
    EXPECT_TRUE(fs::is_symlink(folder.file("link.onnx")));
    EXPECT_TRUE(fs::is_regular_file(folder.file("behind/real.onnx")));

    const std::string pipe = folder.file("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK); // so that nobody waits
    ASSERT_GE(reader, 0);
    outputOf({"fuse", "m.onnx", "-q", "-o", "pipe"});
    EXPECT_TRUE(fs::is_fifo(pipe));
    std::string got(1 << 16, '\0');
    const ssize_t count = ::read(reader, got.data(), got.size());
    ::close(reader);
    ASSERT_GT(count, 0);
    got.resize(static_cast<size_t>(count));
    EXPECT_EQ(got, readAll(folder.file("behind/real.onnx")));
}

TEST_F(CliFiles, AnOptionLeavesTheFileBehindItsValue) {
    folder.write("broken.fuse", "fuse 1;\nrule R { match { y = Rlu(x); } }\n");
    for (const std::vector<std::string>& options :
         std::vector<std::vector<std::string>>{{"--dim", "N=4"}, {"-I", "."}}) {
        std::vector<std::string> words{"check"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("broken.fuse");
        const ProcessResult ran = run(words);
        EXPECT_NE(ran.exitCode, ExitOk) << options[0];
        expectHas(ran.output + ran.errors, "broken.fuse");
    }
}

TEST_F(CliFiles, LineEndsOfAFileThatIsPrintedStay) {
    const std::string text = "fuse 1;\r\nrule R { match { y = Relu(x); } }\r\n";
    folder.write("crlf.fuse", text);
    const auto ran = fuselage::testing_support::runProcess(
        {"sh", "-c", "exec \"$0\" fmt - < \"$1\"", FUSELAGE_PROGRAM, folder.file("crlf.fuse")});
    ASSERT_TRUE(ran);
    EXPECT_EQ(ran->output, text) << ran->errors;
}

TEST_F(CliFiles, WhoMayReadAFileThatIsFormattedStays) {
    const std::string path = folder.file("mode.fuse");
    for (const mode_t mode : {0640U, 0600U, 0664U, 0755U, 0444U}) {
        fs::remove(path);
        folder.write("mode.fuse", "fuse   1;\n");
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
        outputOf({"fmt", "mode.fuse"});
        struct stat after {};
        ASSERT_EQ(::stat(path.c_str(), &after), 0);
        EXPECT_EQ(after.st_mode & 07777U, mode);
        EXPECT_EQ(after.st_size, 8) << "it was not formatted";
    }
}
