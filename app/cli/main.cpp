// SPDX-License-Identifier: Apache-2.0
// fuselage: the command line. Parses, runs one subcommand, maps failures to exit codes.
#include "app/batch/child.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/memory.h"
#include "app/cli/parse_error.h"
#include "app/cli/project_options.h"
#include "app/cli/wait_policy.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <new>
#include <optional>
#include <sstream>

namespace {

using namespace fuselage::cli;
namespace batch = fuselage::batch;

struct Row {
    const char* name;
    const char* help;
    Action (*add)(CLI::App&);
    const char* examples;
};

constexpr Row rows[] = {
    {"fuse", "rewrite a model with fusion rules and write it back", addFuse,
     "  fuselage fuse model.onnx -o fused.onnx\n"
     "  fuselage fuse model.onnx -o fused.onnx -p my_rules.fuse\n"
     "  fuselage fuse model.onnx -o fused.onnx --no-builtin -p my_rules.fuse\n"
     "  fuselage fuse model.onnx --plan-out model.fuseplan\n"
     "  fuselage fuse model.onnx --plan model.fuseplan -o fused.onnx\n"
     "without -o only the counts are printed"},
    {"bench", "run a model before and after fusion, verify, time every kernel", addBench,
     "  fuselage bench model.onnx\n"
     "  fuselage bench model.onnx --dim N=4 --report report.json --save-fused fused.onnx\n"
     "  fuselage bench model.onnx --no-measure --device h200\n"
     "  fuselage bench model.onnx --report -.json | jq .results.after"},
    {"batch", "bench many models, each in a process of its own; gates, baselines, reports",
     addBatch,
     "  fuselage batch models/ -o out/ --device h200\n"
     "  fuselage batch models/ -o out/ --gate gates.toml --baseline ci/baseline --jobs 4\n"
     "  fuselage batch models/ -o out/ --expect expect.toml --shard 1/4\n"
     "out/results.json is the same in every run, out/timings.json is not; out/report.md for "
     "people"},
    {"compare", "two reports, or two folders of batch: what changed", addCompare,
     "  fuselage compare old.json new.json\n"
     "  fuselage compare base/ out/ --gate gates.toml\n"
     "  fuselage compare old.json new.json --fail-on regress --report compare.md\n"
     "  fuselage compare base/ out/ --map net-1.0=net-1.1\n"
     "--gate, --fail-on or --lost ask for a verdict: exit code 1 where B is worse or has lost a "
     "model "
     "of A, else 0"},
    {"merge", "join the folders of all shards", addMerge,
     "  fuselage merge out1/ out2/ -o out/ --gate gates.toml --baseline ci/baseline"},
    {"baseline", "results to compare with, as files for git", addBaseline,
     "  fuselage baseline update out/ --baseline ci/baseline --commit 1a2b3c4\n"
     "  fuselage baseline show --baseline ci/baseline\n"
     "  fuselage baseline prune --baseline ci/baseline --keep 20"},
    {"reduce", "the smallest model for which a command still fails", addReduce,
     "  fuselage reduce model.onnx -o small.onnx -- fuselage bench {} --no-measure\n"
     "  fuselage reduce model.onnx -o small.onnx --exit 1 --text NaN -- ./check.sh\n"
     "Ctrl-C keeps the smallest so far; models are written and run, so trust the command"},
    {"explain", "why a node or rule did not fuse: the step, both values", addExplain,
     "  fuselage explain model.onnx --node Add_17\n"
     "  fuselage explain model.onnx --rule ConvBNReLU\n"
     "  fuselage explain model.onnx --no-builtin -p my_rules.fuse --limit 50"},
    {"derive", "a rule from nodes of a model, or what several places have in common", addDerive,
     "  fuselage derive model.onnx --nodes Conv_1,Relu_2\n"
     "  fuselage derive model.onnx --nodes Conv_1,Relu_2 --nodes Conv_4,Clip_5 -o mine.fuse\n"
     "the rule goes to standard output, what it fires on to standard error"},
    {"plan", "compare which matches two runs applied", addPlan,
     "  fuselage plan diff before.fuseplan after.fuseplan     exit code 1 when they differ\n"
     "`fuse --plan-out` writes a plan, `fuse --plan` replays it"},
    {"quantize", "put 8-bit pairs where fused nodes want them, with ranges from data", addQuantize,
     "  fuselage quantize model.onnx --data inputs/ -o int8.onnx\n"
     "  fuselage quantize model.onnx --data inputs/ --plan-out q.fuseplan    one line a pair\n"
     "  fuselage quantize model.onnx --plan q.fuseplan -o int8.onnx          replays it\n"
     "  fuselage quantize model.onnx --data inputs/ --skip 'op:Conv group>1' --range minmax\n"
     "  fuselage quantize model.onnx --data inputs/ --mixed --max-error 0.02 -o mixed.onnx\n"
     "where pairs may go is said by `qdq` clauses of rules: see dsl/README.md"},
    {"inspect", "operators, shapes and parameters of a model; what is unknown", addInspect,
     "  fuselage inspect model.onnx\n"
     "  fuselage inspect model.onnx --dim N=4 --graph"},
    {"run", "run a model on given or generated inputs and save the outputs", addRun,
     "  fuselage run model.onnx --inputs folder_of_input_N.npy -o outputs --npy\n"
     "  fuselage run model.onnx --fuse --verify --seed 7 -o outputs\n"
     "  fuselage run model.onnx --fuse --verify --value '*'   (which layer differs first?)\n"
     "  fuselage run model.onnx --backend reference"},
    {"check", "parse and check .fuse files; no model needed", addCheck,
     "  fuselage check my_rules.fuse\n"
     "  fuselage check --strict   the built-in library, with lints and proofs"},
    {"fmt", "bring .fuse files into canonical layout; comments stay", addFmt,
     "  fuselage fmt my_rules.fuse\n"
     "  fuselage fmt --check rules/   changes nothing, exit code 1 when something would\n"
     "  fuselage fmt - < a.fuse > b.fuse"},
    {"lsp", "the language server for editors, on standard input and output", addLsp,
     "  fuselage lsp              started by an editor; see dsl/README.md\n"
     "  fuselage lsp --model model.onnx"},
    {"test", "run the tests inside of .fuse files", addTest,
     "  fuselage test my_rules.fuse\n"
     "  fuselage test my_rules.fuse --rule MyRule -v\n"
     "  fuselage test             the built-in library"},
    {"zoo", "write a well-known network with seeded weights", addZoo,
     "  fuselage zoo              lists the networks\n"
     "  fuselage zoo resnet50 -o resnet50.onnx"},
    {"devices", "the device profiles that predictions can use", addDevices,
     "  fuselage devices\n"
     "  fuselage devices h200 > mine.toml     a profile to edit; then --device mine.toml"},
    {"calibrate", "measure this device into a profile that predictions can use", addCalibrate,
     "  fuselage calibrate               what `cpu` means on this machine from then on\n"
     "  fuselage calibrate -o one.toml --threads 1\n"
     "  fuselage bench model.onnx --device mine.toml"},
    {"cache", "show, merge, compare and prune files of measured tactics", addCache,
     "  fuselage cache show timing.cache --all\n"
     "  fuselage cache merge a.cache b.cache -o timing.cache\n"
     "  fuselage cache diff old.cache new.cache      exit code 1 when a plan would differ\n"
     "  fuselage cache prune timing.cache"},
    {"tactics", "which steps cuDNN and cuBLASLt can compute on a device; no GPU needed", addTactics,
     "  fuselage tactics model.onnx --device h200 --precision fp16\n"
     "  fuselage tactics model.onnx --device t4 --summary\n"
     "  fuselage tactics model.onnx --finish      also finishes one plan a step"},
    {"doctor", "what was found on this machine and what is used", addDoctor, "  fuselage doctor"},
    {"manual", "the manual page of all commands, for man", addManual,
     "  fuselage manual > fuselage.1\n"
     "  fuselage manual | man -l -"},
    {"completions", "the completion script of a shell: bash, zsh or fish", addCompletions,
     "  source <(fuselage completions bash)\n"
     "  fuselage completions fish > ~/.config/fish/completions/fuselage.fish"},
};

constexpr const char* footer = R"(examples:
  fuselage zoo resnet50 -o resnet50.onnx
  fuselage bench resnet50.onnx
  fuselage fuse resnet50.onnx -o fused.onnx
  fuselage fuse model.onnx -o out.onnx --no-builtin -p my_rules.fuse
  fuselage explain model.onnx --node Add_17
  fuselage bench model.onnx --dim N=4 --device h200
)";

/// "exit codes: 0 fine, 1 ...", on lines of at most 100 characters.
std::string exitCodesText() {
    std::string out, line = "exit codes:";
    for (const ExitMeaning& row : exitMeanings) {
        const std::string piece = fmt::format(" {} {},", static_cast<int>(row.code), row.meaning);
        if (line.size() + piece.size() > 100) {
            out += line + "\n";
            line = piece.substr(1);
        } else {
            line += piece;
        }
    }
    line.pop_back();
    return out + line;
}

bool isCommand(const std::string& word) {
    return std::any_of(std::begin(rows), std::end(rows),
                       [&](const Row& row) { return row.name == word; });
}

int unknownCommand(const char* word) {
    std::string names;
    for (const Row& row : rows)
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    return reportError(fuselage::failure("usage.command", fmt::format("no command `{}`", word), "",
                                         "one of: " + names)
                           .error);
}

void parseWords(CLI::App& app, std::vector<std::string> words) {
    std::reverse(words.begin(), words.end()); // as CLI11 wants them
    app.parse(std::move(words));
}

/// The exit code when there is nothing to run: help, or a mistake.
std::optional<int> parse(CLI::App& app, const ProjectWords& project) {
    if (auto given = requireWords(project.words); !given)
        return reportError(given.error());
    try {
        try {
            parseWords(app, project.words);
        } catch (const CLI::RequiredError&) {
            if (project.models.empty())
                throw;
            std::vector<std::string> words = project.words;
            words.insert(words.end(), project.models.begin(), project.models.end());
            parseWords(app, std::move(words));
        }
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0)
            return reportError(
                usageError(app, error, project.words, placeOf(error.what(), project)));
        std::ostringstream help; // or the version
        app.exit(error, help, help);
        printOut(help.str());
        return outputLost(ExitOk);
    }
    if (auto given = requireValues(app); !given)
        return reportError(given.error());
    return {};
}

/// A stream that was closed by who started this would else be the next file that is opened.
void openStreams() {
    for (int stream : {0, 1, 2})
        if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != stream)
            std::_Exit(ExitInternal);
}

/// An option takes one value each time: what follows may be a model or a file of rules.
void takeOneValueEach(CLI::App& app) {
    for (CLI::Option* option : app.get_options())
        if (option->nonpositional())
            option->allow_extra_args(false);
    for (CLI::App* sub : app.get_subcommands({}))
        takeOneValueEach(*sub);
}

/// What a library throws past its room is said in the words of an error.
int guarded(const Action& action) {
    try {
        return action();
    } catch (const std::bad_alloc&) {
        return reportError(fuselage::failure("resource.memory", "not enough memory", "",
                                             "give smaller dimensions with --dim")
                               .error);
    } catch (const std::exception& error) {
        return reportError(fuselage::failure("internal.exception", error.what(), "",
                                             "report this with the command that you ran")
                               .error);
    }
}

} // namespace

int main(int argc, char** argv) {
    openStreams();
    std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of writing
    endInWords();
    batch::followParent();
    shortenSpins(argv);
    CLI::App app("Fuselage: see, write and measure operator fusion on ONNX models", "fuselage");
    std::string config; // taken out of the words before they are parsed
    app.add_option("--config", config,
                   "file of options (default: the nearest fuselage.toml; none: no file)");
    bool print = false; // taken out of the words too
    app.add_flag("--print-config", print,
                 "show the settings of a command and where each comes from; run nothing");
    app.set_version_flag("--version", FUSELAGE_VERSION);
    app.require_subcommand(1);
    app.footer(footer + exitCodesText());
    std::vector<std::pair<CLI::App*, Action>> actions;
    for (const Row& row : rows) {
        CLI::App* sub = app.add_subcommand(row.name, row.help);
        sub->footer(std::string("examples:\n") + row.examples);
        actions.emplace_back(sub, row.add(*sub));
    }
    takeOneValueEach(app);
    if (argc > 1 && argv[1][0] != '-' && !isCommand(argv[1]))
        return unknownCommand(argv[1]);
    auto project = withProject(app, {argv + 1, argv + argc});
    if (!project)
        return reportError(project.error());
    if (auto stopped = parse(app, *project))
        return *stopped;
    if (project->print) {
        printOut(settingsText(app, *project));
        return outputLost(ExitOk);
    }
    for (const auto& [sub, action] : actions)
        if (sub->parsed())
            return outputLost(guarded(action));
    return ExitUsage;
}
