// SPDX-License-Identifier: Apache-2.0
// `malformed_models --data FOLDER | --operators [--only NAME] [--every N] [--keep FOLDER]
// [--verbose]`: ONNX's own small models, or a node of every operator, made wrong in one place,
// through the whole pipeline. Nothing may crash, hang or refuse without a code, nor without the
// name of an operator's node. A child process runs them and is started again behind what ended it,
// so that one run lists all that is wrong. Exit code 77: no models here.
#include "core/support/file.h"
#include "tests/fuzz/operator_models.h"
#include "tests/support/through_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fuselage;
namespace fs = std::filesystem;

namespace {

constexpr unsigned secondsEach = 20;

struct Options {
    std::string data, only, keep;
    bool operators = false;
    size_t every = 1; ///< of the malformations of a model, each N-th
    bool verbose = false;
};

/// Where a child is: a subject, and one of its malformations.
struct Place {
    size_t subject = 0, at = 0;
};

/// What a child tells its parent, in memory that both see.
struct Shared {
    Place place; ///< that runs
    size_t done; ///< malformations that were answered
    size_t runs;
    size_t models;
    char words[512]; ///< of an answer that is none
};

/// A model of the data, as it is or with its small integer inputs stored in the file; or a node of
/// an operator with a choice of operands.
struct Source {
    fs::path folder;
    bool stored = false;
    Op op = Op::Unknown;
    size_t choice = 0;
};

struct Subject {
    std::string name;
    ::onnx::ModelProto model;
    std::vector<fuzz::Malformation> malformations;
    bool isOperator = false;
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

Subject operatorSubject(Op op, size_t choice) {
    Subject out{
        fmt::format("{}+{}", nameOf(op), choice), fuzz::operatorModel(op, choice), {}, true};
    out.malformations = fuzz::rowMalformations(op, out.model);
    out.malformations.insert(out.malformations.begin(), {"as it is", [](::onnx::ModelProto&) {}});
    return out;
}

/// None when there is nothing to run.
std::optional<Subject> subjectOf(const Source& source) {
    if (source.op != Op::Unknown)
        return operatorSubject(source.op, source.choice);
    auto model = readModel(source.folder);
    if (!model)
        return std::nullopt;
    Subject out{source.folder.filename().string(), *model, {}};
    if (source.stored) {
        out.name += "+stored";
        out.model = withStoredInputs(source.folder, *model);
        if (out.model.graph().initializer_size() == model->graph().initializer_size())
            return std::nullopt;
    }
    out.malformations = fuzz::malformationsOf(out.model);
    out.malformations.insert(out.malformations.begin(), {"as it is", [](::onnx::ModelProto&) {}});
    return out;
}

/// The model as it is, then each `every`-th malformation, not of all models the same.
size_t nextAt(const Place& place, size_t every) {
    return place.at != 0 ? place.at + every : 1 + place.subject % every;
}

/// What an answer lacks; empty when it is one.
std::string wrongAnswer(const Subject& subject, size_t at,
                        const testing_support::Passage& passage) {
    std::string wrong = testing_support::uncodedError(passage);
    if (!wrong.empty() || !subject.isOperator)
        return wrong;
    // What a device cannot give out is an output, not a node.
    for (const Error& error : passage.errors)
        if (error.text().find(fuzz::operatorNode) == std::string::npos &&
            error.code != "run.outputs")
            return fmt::format("no node's name: {} {}", error.code, error.text());
    if (subject.malformations[at].refused && passage.prepared)
        return "was taken";
    return {};
}

/// Runs in the child. False when something was answered wrongly; its words are in `shared`.
bool runSubject(const Subject& subject, size_t every, Shared& shared) {
    for (size_t& at = shared.place.at; at < subject.malformations.size();
         at = nextAt(shared.place, every)) {
        ::alarm(secondsEach);
        ::onnx::ModelProto model = subject.model;
        subject.malformations[at].apply(model);
        testing_support::PassageOptions options;
        if (at == 0)
            options.integers = fuzz::hostileIntegers();
        const auto passage = testing_support::throughPipeline(model.SerializeAsString(), options);
        if (std::string wrong = wrongAnswer(subject, at, passage); !wrong.empty()) {
            std::strncpy(shared.words, wrong.c_str(), sizeof shared.words - 1);
            return false;
        }
        ++shared.done;
        shared.models += at == 0 ? 1 : 0;
        shared.runs += passage.runs;
    }
    return true;
}

/// The exit code of a child that goes on from `shared.place`.
int runFrom(const std::vector<Source>& sources, const Options& options, Shared& shared) {
    for (size_t& i = shared.place.subject; i < sources.size(); ++i, shared.place.at = 0) {
        auto subject = subjectOf(sources[i]);
        if (subject && options.verbose)
            fmt::print("{}: {} malformations\n", subject->name, subject->malformations.size());
        if (subject && !runSubject(*subject, options.every, shared))
            return 3;
    }
    return 0;
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

/// Says which malformation a child did not answer; keeps the file when asked to.
void tell(const Source& source, const Options& options, int status, const Shared& shared) {
    auto subject = subjectOf(source);
    if (!subject || shared.place.at >= subject->malformations.size()) {
        fmt::print("{}: {}\n", subject ? subject->name : source.folder.filename().string(),
                   endOf(status, shared));
        return;
    }
    const auto& malformation = subject->malformations[shared.place.at];
    fmt::print("{} [{}] {}: {}\n", subject->name, shared.place.at, malformation.label,
               endOf(status, shared));
    if (options.keep.empty())
        return;
    malformation.apply(subject->model);
    const std::string name = fmt::format("{}-{}.onnx", subject->name, shared.place.at);
    if (auto kept = writeFile(subject->model.SerializeAsString(), options.keep + "/" + name); !kept)
        fmt::print("{}\n", kept.error().text());
}

/// Returns how many malformations were not answered.
size_t checkAll(const std::vector<Source>& sources, const Options& options, Shared& shared) {
    size_t wrong = 0;
    while (shared.place.subject < sources.size()) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL); // a run that is stopped leaves nothing behind
            ::_exit(runFrom(sources, options, shared));
        }
        int status = 0;
        if (child < 0 || ::waitpid(child, &status, 0) != child)
            return wrong + 1;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
        ++wrong;
        tell(sources[shared.place.subject], options, status, shared);
        shared.place.at = nextAt(shared.place, options.every);
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
        else if (word == "--operators")
            out.operators = true;
    }
    return out;
}

std::vector<Source> operatorSources(const Options& options) {
    std::vector<Source> out;
    for (Op op : fuzz::modelledOperators())
        for (size_t choice = 0; choice < fuzz::operandChoices(); ++choice)
            if (std::string(nameOf(op)).find(options.only) != std::string::npos)
                out.push_back({{}, false, op, choice});
    return out;
}

std::vector<Source> dataSources(const Options& options) {
    std::vector<fs::path> folders;
    std::error_code failed;
    for (const char* set : {"node", "simple"})
        for (const auto& entry : fs::directory_iterator(fs::path(options.data) / set, failed))
            if (entry.path().filename().string().find(options.only) != std::string::npos)
                folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    std::vector<Source> out;
    for (const fs::path& folder : folders)
        for (bool stored : {false, true})
            out.push_back({folder, stored});
    return out;
}

} // namespace

int main(int argc, char** argv) {
    const Options options = optionsFrom(argc, argv);
    const std::vector<Source> sources =
        options.operators ? operatorSources(options) : dataSources(options);
    if (sources.empty()) {
        fmt::print("skipped: no ONNX backend test data (package libonnx-testdata)\n");
        return 77;
    }
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 2;
    auto* shared = new (memory) Shared{};
    testing_support::loadStandardRules();
    std::setvbuf(stdout, nullptr, _IOLBF, 0); // children must not inherit what waits to be written
    const size_t wrong = checkAll(sources, options, *shared);
    fmt::print("{} models, {} malformations answered, {} runs, {} not answered\n", shared->models,
               shared->done, shared->runs, wrong);
    return wrong == 0 ? 0 : 1;
}
