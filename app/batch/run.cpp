// SPDX-License-Identifier: Apache-2.0
#include "app/batch/run.h"

#include "app/batch/gates/gate.h"
#include "app/batch/outputs.h"
#include "app/batch/work_folder.h"
#include "app/report/json_read.h"
#include "core/support/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace fuselage::batch {

namespace fs = std::filesystem;

using app::ModelRun;
using app::RunReport;

namespace {

/// Error "usage.output" when results would replace the models that are read.
Result<void> checkApart(const std::vector<ModelFile>& models, const std::string& output) {
    for (const ModelFile& model : models) {
        std::error_code error;
        const fs::path folder = fs::absolute(model.path, error).parent_path();
        if (fs::equivalent(folder, fs::path(output) / "models", error))
            return failure("usage.output",
                           "results would replace the models: they go to `" + output + "/models`",
                           "-o", "name another folder");
    }
    return {};
}

/// Options of one model: its own ones in place of those that all have.
std::vector<std::string> optionsOf(const BatchOptions& options, const std::string& id) {
    std::vector<const ModelOption*> own;
    for (const ModelOption& option : options.forModels)
        if (fitsId(option.models, id))
            own.push_back(&option);
    std::vector<std::string> out;
    for (const std::string& word : options.forward)
        if (std::none_of(own.begin(), own.end(), [&](const ModelOption* option) {
                return word == option->name || word.starts_with(option->name + "=");
            }))
            out.push_back(word);
    for (const ModelOption* option : own)
        if (!option->flag)
            out.push_back(option->name + "=" + option->value);
        else if (option->value == "true")
            out.push_back(option->name);
    return out;
}

std::vector<std::string> benchCommand(const BatchOptions& options, const ModelFile& file) {
    const std::string& model = file.path;
    // What the project's file says is among the options that are handed on.
    std::vector<std::string> out{options.program, "--config=none", "bench"};
    const std::vector<std::string> own = optionsOf(options, file.id);
    out.insert(out.end(), own.begin(), own.end());
    // A name that begins like an option stays a name.
    const bool relative = fs::path(model).is_relative();
    out.insert(out.end(), {"--quiet", "--explain"});
    out.push_back(relative && !model.starts_with("./") && !model.starts_with("../") ? "./" + model
                                                                                    : model);
    return out;
}

/// "fuselage: where: message [code]", the last one of what a child said.
void readError(const std::string& text, ModelRun& model) {
    constexpr std::string_view prefix = "fuselage: ";
    size_t at = text.rfind(prefix);
    while (at != std::string::npos && at > 0 && text[at - 1] != '\n')
        at = text.rfind(prefix, at - 1);
    if (at == std::string::npos)
        return;
    std::string line = text.substr(at + prefix.size());
    line = line.substr(0, line.find('\n'));
    const size_t open = line.rfind(" [");
    if (open != std::string::npos && line.back() == ']') {
        model.code = line.substr(open + 2, line.size() - open - 3);
        line.resize(open);
    }
    model.message = line;
}

/// What the end of a child says of its model; the reason kind, "" when it is well.
std::string judge(const ChildResult& child, const BatchOptions& options, ModelRun& model) {
    using State = ModelRun::State;
    readError(child.errors, model);
    constexpr int notStarted = 127; // by the system, which has no memory for its libraries
    if (options.memoryBytes > 0 && child.end == ChildResult::End::Exited &&
        child.code == notStarted) {
        model.state = State::Memory;
        model.message = "the program does not start in the memory of --memory";
        return "limit";
    }
    switch (child.end) {
    case ChildResult::End::Timeout:
        model.state = State::Timeout;
        model.message = fmt::format("still running after {:g} s", options.timeoutSeconds);
        return "limit";
    case ChildResult::End::Cancelled:
        model.state = State::NotRun;
        model.message = "interrupted";
        return "partial";
    case ChildResult::End::NotStarted:
        model.state = State::Failed;
        model.message = child.errors;
        return "limit";
    case ChildResult::End::Signalled:
        // The system ends what uses up the machine.
        model.state = child.code == SIGKILL ? State::Memory : State::Crashed;
        model.message = fmt::format("ended by signal {}", child.code);
        return child.code == SIGKILL ? "limit" : "internal";
    case ChildResult::End::Exited:
        break;
    }
    model.state = child.code == 0 || child.code == 4 ? State::Done : State::Failed;
    switch (child.code) {
    case 0:
        return "";
    case 1:
        return "gate";
    case 2:
        return "usage";
    case 3:
        return "input";
    case 4:
        // Without a report it is an error of its own, found below.
        return "verify";
    case 5:
        return "device";
    case 6:
        model.state = model.code == "resource.memory" ? State::Memory : State::Failed;
        return "limit";
    default:
        model.message =
            model.message.empty() ? fmt::format("exit code {}", child.code) : model.message;
        return "internal";
    }
}

std::string logLine(size_t number, size_t all, const ModelRun& model) {
    std::string out = fmt::format("[{:>{}}/{}] {}: {}", number, std::to_string(all).size(), all,
                                  model.id, nameOf(model.state));
    if (model.state != ModelRun::State::NotRun)
        out += fmt::format(", {:.1f} s", model.seconds);
    if (model.report)
        out += fmt::format(", {} -> {} launches, verification {}", model.report->before.launches,
                           model.report->after.launches, verificationText(*model.report));
    if (!model.message.empty())
        out += ": " + model.message;
    if (!model.code.empty())
        out += " [" + model.code + "]";
    return out;
}

Result<app::Report> readReport(const std::string& path) {
    auto text = readFile(path);
    if (!text)
        return failure(text.error());
    return app::readJson(*text);
}

/// Moves what a child made to where a person looks for it.
Result<void> publish(const WorkFolder& work, const ModelFile& model, const BatchOptions& options) {
    for (const std::string& name : modelFilesOf(model.id, work.path())) {
        std::error_code error;
        fs::rename(work.file(name), fs::path(options.output) / "models" / name, error);
        if (error)
            return failure("save.write", "the file cannot be written: " + error.message(), name);
    }
    return {};
}

ChildTask taskOf(const BatchOptions& options, const ModelFile& model, const WorkFolder& work) {
    ChildTask out;
    out.arguments = benchCommand(options, model);
    for (const char* ending : reportEndings)
        out.arguments.insert(out.arguments.end(), {"--report", work.file(model.id + ending)});
    if (options.keepModels)
        out.arguments.insert(out.arguments.end(), {"--save-fused", work.file(model.id + ".onnx")});
    out.seconds = options.timeoutSeconds;
    out.memoryBytes = options.memoryBytes;
    return out;
}

} // namespace

Result<RunReport> runModels(const BatchOptions& options, const Log& log, Progress& progress) {
    auto found = findModels(options.models);
    if (!found)
        return failure(found.error());
    const std::vector<ModelFile> models = ofShard(*found, options.shard);
    if (auto apart = checkApart(*found, options.output); !apart)
        return failure(apart.error());
    auto work = WorkFolder::make(options.output);
    if (!work)
        return failure(work.error());
    // Who reads the folder while this runs, or when it was killed, would take those for new.
    clearOutputs(options.output);
    RunReport run;
    run.version = options.version;
    run.config = options.config;
    run.shard = options.shard.index;
    run.shards = options.shard.of;
    std::vector<ChildTask> tasks;
    for (const ModelFile& model : models) {
        ModelRun& row = run.models.emplace_back();
        row.id = model.id;
        row.file = model.path;
        row.state = ModelRun::State::NotRun;
        row.message = "left out after a failure";
        tasks.push_back(taskOf(options, model, *work));
    }
    std::optional<Error> problem; // of the output folder
    size_t done = 0;
    auto starting = [&](size_t) { return !(options.failFast && !run.reasons.empty()) && !problem; };
    auto ended = [&](size_t i, const ChildResult& child) {
        ModelRun& row = run.models[i];
        row.message.clear();
        row.seconds = child.seconds;
        std::string kind = judge(child, options, row);
        if (auto report = readReport(work->file(row.id + ".json")); report) {
            report->model.path = row.file;
            row.structure = app::structureHash(*report);
            row.report = std::move(*report);
        } else if (row.state == ModelRun::State::Done) {
            row.state = ModelRun::State::Failed;
            row.message = report.error().message;
            kind = "internal";
        }
        if (options.redact && row.state == ModelRun::State::Failed)
            row.message = "what went wrong may hold names of the model: it is hidden";
        if (!kind.empty())
            run.reasons.push_back(kind + ":" + row.id);
        if (auto moved = publish(*work, models[i], options); !moved && !problem)
            problem = moved.error();
        log(logLine(++done, models.size(), row));
        if (row.report)
            for (const std::string& note : row.report->model.notes)
                log("  note: " + note);
    };
    runChildren(tasks, std::max<size_t>(options.jobs, 1), progress, {starting, ended});
    if (problem)
        return failure(*problem);
    for (const ModelRun& model : run.models)
        if (model.state == ModelRun::State::NotRun)
            run.reasons.push_back("partial:" + model.id);
    settle(run);
    return run;
}

Result<app::Report> measureAgain(const BatchOptions& options, const ModelFile& model,
                                 Progress& progress) {
    auto work = WorkFolder::make(options.output);
    if (!work)
        return failure(work.error());
    ChildTask task;
    task.arguments = benchCommand(options, model);
    task.arguments.insert(task.arguments.end(),
                          {"--no-verify", "--report", work->file("again.json")});
    task.seconds = options.timeoutSeconds;
    task.memoryBytes = options.memoryBytes;
    auto starting = [](size_t) { return true; };
    auto ended = [](size_t, const ChildResult&) {};
    runChildren({task}, 1, progress, {starting, ended});
    return readReport(work->file("again.json"));
}

} // namespace fuselage::batch
