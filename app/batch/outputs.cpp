// SPDX-License-Identifier: Apache-2.0
#include "app/batch/outputs.h"

#include "app/report/chrome_trace.h"
#include "app/report/csv.h"
#include "app/report/junit.h"
#include "app/report/markdown.h"
#include "app/report/run_html.h"
#include "app/report/run_json.h"
#include "app/report/sarif.h"
#include "core/onnx/model_file.h"
#include "core/support/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/file.h>

namespace fuselage::batch {

namespace fs = std::filesystem;

using app::RunReport;

namespace {

std::string markdown(const RunReport& run) {
    return app::renderMarkdown(run);
}

std::string sarif(const RunReport& run) {
    return app::renderSarif(run);
}

// results.json comes last: who waits for it finds the others.
constexpr std::pair<const char*, std::string (*)(const RunReport&)> reportFiles[] = {
    {"report.html", app::renderRunHtml},       {"report.md", markdown},
    {"report.junit.xml", app::renderJUnit},    {"report.sarif", sarif},
    {"report.csv", app::renderKernelsCsv},     {"report.matches.csv", app::renderMatchesCsv},
    {"report.gates.csv", app::renderGatesCsv}, {"report.trace.json", app::renderChromeTrace},
    {"timings.json", app::renderTimings},      {"results.json", app::renderResults},
};

/// What killed processes left half-written. Only who holds the folder's lock writes these names.
void clearHalfWritten(const std::string& folder) {
    clearUnfinished(folder, [](const std::string& path) {
        const std::string name = fs::path(path).filename().string();
        return std::any_of(std::begin(reportFiles), std::end(reportFiles),
                           [&](const auto& file) { return name.starts_with(file.first); });
    });
}

/// Kinds of reasons that gates give, and nothing else.
constexpr const char* gateReasons[] = {"time:", "gate:", "expect:", "unknown:"};

constexpr const char* marker = ".fuselage-batch"; ///< in a folder of models that a run made
constexpr std::string_view modelEnding = ".onnx";

bool isModelFile(const std::string& name) {
    constexpr std::string_view olderData = ".onnx.data"; // what versions before hashes wrote
    return name.ends_with(modelEnding) || model_io::modelOfDataFile(name).ends_with(modelEnding) ||
           name.ends_with(olderData) ||
           std::any_of(std::begin(reportEndings), std::end(reportEndings),
                       [&](const char* ending) { return name.ends_with(ending); });
}

} // namespace

namespace {

/// Why two runs are not shards of one; empty: they may be.
std::string differenceOf(const RunReport& a, const RunReport& b) {
    if (a.version != b.version)
        return fmt::format("it was made by version {}, the first by {}", b.version, a.version);
    if (a.shards != b.shards)
        return fmt::format("it is one of {}, the first one of {}", b.shards, a.shards);
    return a.config == b.config ? "" : "it was made with other options or rules";
}

} // namespace

std::vector<std::string> modelFilesOf(const std::string& id, const std::string& folder) {
    const std::string model = id + std::string(modelEnding);
    std::vector<std::string> out;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (const std::string name = at->path().filename().string();
            model_io::modelOfDataFile(name) == model)
            out.push_back(name);
    out.push_back(model); // behind its data: it is whole when it is there
    for (const char* ending : reportEndings)
        out.push_back(id + ending);
    std::erase_if(out, [&](const std::string& name) {
        std::error_code failed;
        return !fs::exists(fs::path(folder) / name, failed);
    });
    return out;
}

Result<void> claimModels(const std::string& folder) {
    const fs::path models = fs::path(folder) / "models", mark = models / marker;
    std::error_code error;
    fs::create_directories(models, error);
    if (error)
        return failure("save.write", "the folder cannot be made: " + error.message(),
                       models.string(), "check permissions and free space");
    if (!fs::exists(mark, error) && !fs::is_empty(models, error))
        return failure("usage.output", "this folder holds files that no run made", models.string(),
                       "name another folder with -o");
    return fs::exists(mark, error) ? Result<void>() : writeFile("", mark.string());
}

void clearOutputs(const std::string& folder) {
    std::error_code error, ignored;
    for (const auto& [name, render] : reportFiles)
        fs::remove(fs::path(folder) / name, ignored);
    for (fs::directory_iterator at(fs::path(folder) / "models", error), end; !error && at != end;
         at.increment(error))
        if (isModelFile(at->path().filename().string()))
            fs::remove(at->path(), ignored);
}

bool isOutputs(const std::string& folder) {
    std::error_code failed;
    return fs::exists(fs::path(folder) / "models" / marker, failed);
}

Result<void> writeOutputs(const RunReport& run, const std::string& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    const FileHandle lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.value() < 0)
        return failure("save.write", "the folder cannot be opened", folder,
                       "check its permissions and free space");
    ::flock(lock.value(), LOCK_EX);
    clearHalfWritten(folder);
    for (const auto& [name, render] : reportFiles)
        if (auto written = writeFile(render(run), folder + "/" + name); !written)
            return written;
    return {};
}

std::vector<std::string> filesOfOutputs(const std::string& path) {
    std::error_code error;
    const bool folder = fs::is_directory(path, error);
    const fs::path results = folder ? path + "/results.json" : path;
    std::vector<std::string> out{results.string()};
    if (results.filename() == "results.json")
        out.push_back((results.parent_path() / "timings.json").string());
    return out;
}

Result<RunReport> readOutputs(const std::string& path) {
    const std::vector<std::string> files = filesOfOutputs(path);
    const std::string& results = files.front();
    auto text = readFile(results);
    if (!text)
        return failure(text.error());
    std::string times;
    if (std::error_code error; files.size() > 1 && fs::exists(files.back(), error)) {
        auto read = readFile(files.back());
        if (!read)
            return failure(read.error());
        times = std::move(*read);
    }
    auto run = app::readRun(*text, times);
    if (!run)
        return failure(run.error().code, run.error().message, results, run.error().fix);
    return run;
}

Result<RunReport> mergeRuns(std::vector<RunReport> runs) {
    RunReport out;
    if (runs.empty())
        return out;
    const RunReport& first = runs.front();
    std::set<size_t> present;
    std::set<std::string> ids;
    for (RunReport& run : runs) {
        if (std::string other = differenceOf(first, run); !other.empty())
            return failure("usage.merge",
                           fmt::format("folder {} is no shard of the run that the first one is of: "
                                       "{}",
                                       &run - runs.data() + 1, other),
                           "", "run every shard with the same options, rules and program");
        if (!present.insert(run.shard).second && first.shards > 1)
            return failure("usage.merge",
                           fmt::format("shard {}/{} is given twice", run.shard, run.shards));
        for (const app::ModelRun& model : run.models)
            if (!ids.insert(model.id).second)
                return failure("usage.merge", "`" + model.id + "` is in two of the folders");
    }
    out.version = first.version;
    out.config = first.config;
    for (size_t shard = 1; shard <= first.shards; ++shard)
        if (!present.contains(shard))
            out.reasons.push_back(fmt::format("partial:shard {}/{}", shard, first.shards));
    for (RunReport& run : runs) {
        for (const std::string& reason : run.reasons)
            if (std::none_of(std::begin(gateReasons), std::end(gateReasons),
                             [&](const char* kind) { return reason.starts_with(kind); }))
                out.reasons.push_back(reason);
        std::move(run.models.begin(), run.models.end(), std::back_inserter(out.models));
    }
    std::sort(out.models.begin(), out.models.end(),
              [](const app::ModelRun& a, const app::ModelRun& b) { return a.id < b.id; });
    settle(out);
    return out;
}

Result<void> copyModels(const RunReport& run, const std::string& from, const std::string& to) {
    std::error_code failed;
    const bool isFolder = fs::is_directory(from, failed);
    if (!isFolder && fs::path(from).filename() != "results.json") // a report of one model
        return {};
    const fs::path source = (isFolder ? fs::path(from) : fs::path(from).parent_path()) / "models",
                   target = fs::path(to) / "models";
    if (auto claimed = claimModels(to); !claimed)
        return claimed;
    std::error_code error;
    if (fs::equivalent(source, target, error))
        return {};
    for (const app::ModelRun& model : run.models)
        for (const std::string& name : modelFilesOf(model.id, source.string())) {
            fs::copy_file(source / name, target / name, fs::copy_options::overwrite_existing,
                          error);
            if (error)
                return failure("save.write", "the file cannot be copied: " + error.message(),
                               (target / name).string(), "check permissions and free space");
        }
    return {};
}

} // namespace fuselage::batch
