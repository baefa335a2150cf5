// SPDX-License-Identifier: Apache-2.0
// `malformed_models --data FOLDER [--only NAME] [--every N] [--verbose]`: ONNX's own small models,
// made wrong in one place, through the whole pipeline. Nothing may crash, hang or refuse without a
// code. Each model runs in a child process of its own, so that one run lists all that is wrong.
// Exit code 77: no models here.
#include "core/support/file.h"
#include "tests/fuzz/malformation.h"
#include "tests/support/through_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fuselage;
namespace fs = std::filesystem;

namespace {

constexpr unsigned secondsEach = 20;

struct Options {
    std::string data, only, keep;
    size_t every = 1; ///< of the malformations of a model, each N-th
    bool verbose = false;
};

/// What a child tells its parent, in memory that both see.
struct Shared {
    size_t at;   ///< the malformation that runs
    size_t done; ///< those that were answered
    size_t runs;
    char words[512]; ///< of an answer that is none
};

struct Subject {
    std::string name;
    ::onnx::ModelProto model;
    std::vector<fuzz::Malformation> malformations;
};

std::optional<::onnx::ModelProto> readModel(const fs::path& folder) {
    auto bytes = readFile((folder / "model.onnx").string());
    ::onnx::ModelProto model;
    if (!bytes || !model.ParseFromString(*bytes))
        return std::nullopt;
    return model;
}

/// The same model with what is stored for its inputs of numbers that say shapes and positions.
::onnx::ModelProto withStoredInputs(const fs::path& folder, ::onnx::ModelProto model) {
    for (int i = 0; i < model.graph().input_size(); ++i) {
        const auto& input = model.graph().input(i);
        auto bytes =
            readFile((folder / "test_data_set_0" / fmt::format("input_{}.pb", i)).string());
        ::onnx::TensorProto tensor;
        const bool isParameter = input.type().has_tensor_type() &&
                                 input.type().tensor_type().elem_type() != 1 &&
                                 input.type().tensor_type().shape().dim_size() <= 1;
        if (!isParameter || !bytes || !tensor.ParseFromString(*bytes))
            continue;
        tensor.set_name(input.name());
        *model.mutable_graph()->add_initializer() = tensor;
    }
    return model;
}

std::vector<Subject> subjectsOf(const fs::path& folder) {
    auto model = readModel(folder);
    if (!model)
        return {};
    const std::string name = folder.filename().string();
    std::vector<Subject> out{{name, *model, {}}};
    ::onnx::ModelProto stored = withStoredInputs(folder, *model);
    if (stored.graph().initializer_size() > model->graph().initializer_size())
        out.push_back({name + "+stored", std::move(stored), {}});
    for (Subject& subject : out) {
        subject.malformations = fuzz::malformationsOf(subject.model);
        subject.malformations.insert(subject.malformations.begin(),
                                     {"as it is", [](::onnx::ModelProto&) {}});
    }
    return out;
}

/// Runs in the child: all malformations from `first` on.
void runAll(const Subject& subject, size_t first, size_t every, Shared& shared) {
    for (size_t i = first; i < subject.malformations.size(); i += every) {
        shared.at = i;
        ::alarm(secondsEach);
        ::onnx::ModelProto model = subject.model;
        subject.malformations[i].apply(model);
        testing_support::PassageOptions options;
        if (i == 0)
            options.integers = fuzz::hostileIntegers();
        const auto passage = testing_support::throughPipeline(model.SerializeAsString(), options);
        if (std::string wrong = testing_support::uncodedError(passage); !wrong.empty()) {
            std::strncpy(shared.words, wrong.c_str(), sizeof shared.words - 1);
            ::_exit(3);
        }
        ++shared.done;
        shared.runs += passage.runs;
    }
}

std::string endOf(int status, const Shared& shared) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
        return shared.words;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return fmt::format("took longer than {} s", secondsEach);
    if (WIFSIGNALED(status))
        return fmt::format("ended by signal {}", WTERMSIG(status));
    return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

/// Returns how many malformations were not answered.
size_t check(const Subject& subject, const Options& options, size_t offset, Shared& shared) {
    size_t wrong = 0;
    size_t first = offset % options.every;
    while (first < subject.malformations.size()) {
        const pid_t child = ::fork();
        if (child == 0) {
            if (!options.verbose) {
                std::freopen("/dev/null", "w", stderr);
            }
            runAll(subject, first, options.every, shared);
            ::_exit(0);
        }
        int status = 0;
        if (child < 0 || ::waitpid(child, &status, 0) != child)
            return wrong + 1;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return wrong;
        ++wrong;
        const auto& label = subject.malformations[shared.at].label;
        fmt::print("{} [{}] {}: {}\n", subject.name, shared.at, label, endOf(status, shared));
        if (!options.keep.empty()) {
            ::onnx::ModelProto model = subject.model;
            subject.malformations[shared.at].apply(model);
            (void)writeFile(fmt::format("{}/{}-{}.onnx", options.keep, subject.name, shared.at),
                            model.SerializeAsString());
        }
        first = shared.at + options.every;
    }
    return wrong;
}

Options optionsFrom(int argc, char** argv) {
    Options out;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::string next = i + 1 < argc ? argv[i + 1] : "";
        if (word == "--data")
            out.data = next;
        else if (word == "--only")
            out.only = next;
        else if (word == "--keep")
            out.keep = next;
        else if (word == "--every")
            out.every = std::max<size_t>(1, std::stoul(next));
        else if (word == "--verbose")
            out.verbose = true;
    }
    return out;
}

} // namespace

int main(int argc, char** argv) {
    const Options options = optionsFrom(argc, argv);
    std::vector<fs::path> folders;
    std::error_code failed;
    for (const char* set : {"node", "simple"})
        for (const auto& entry : fs::directory_iterator(fs::path(options.data) / set, failed))
            if (entry.path().filename().string().find(options.only) != std::string::npos)
                folders.push_back(entry.path());
    if (folders.empty()) {
        fmt::print("skipped: no ONNX backend test data (package libonnx-testdata)\n");
        return 77;
    }
    std::sort(folders.begin(), folders.end());
    auto* shared = static_cast<Shared*>(
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (shared == MAP_FAILED)
        return 2;
    testing_support::loadStandardRules();
    std::setvbuf(stdout, nullptr, _IOLBF, 0); // children must not inherit what waits to be written
    size_t wrong = 0, models = 0;
    for (const fs::path& folder : folders)
        for (const Subject& subject : subjectsOf(folder))
        {
            if (options.verbose)
                fmt::print("{}: {} malformations\n", subject.name, subject.malformations.size());
            wrong += check(subject, options, ++models, *shared);
        }
    fmt::print("{} models, {} malformations answered, {} runs, {} not answered\n", models,
               shared->done, shared->runs, wrong);
    return wrong == 0 ? 0 : 1;
}
