// SPDX-License-Identifier: Apache-2.0
#include "app/batch/baseline.h"

#include "app/report/run_json.h"
#include "core/support/file.h"
#include "core/support/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

namespace fuselage::batch {

namespace fs = std::filesystem;

using app::ModelRun;
using app::RunReport;

namespace {

/// The part of a key that finds: names of files may change.
std::string hashOf(const ModelRun& model) {
    const app::Report& report = *model.report;
    Hasher hash;
    hash.text("fuselage.results/1").text(model.structure).text(report.machine.profile);
    hash.text(report.machine.backend).text(report.precision.name);
    for (const auto& [name, value] : report.model.dims)
        hash.text(name).number(value);
    return hash.hex();
}

RunReport alone(const ModelRun& model, const std::string& version) {
    RunReport out;
    out.version = version;
    out.models = {model};
    return out;
}

/// timings-000123.json, oldest first.
std::vector<fs::path> timingFiles(const fs::path& folder) {
    std::vector<fs::path> out;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (const std::string name = at->path().filename().string();
            name.starts_with("timings-") && name.ends_with(".json"))
            out.push_back(at->path());
    std::sort(out.begin(), out.end());
    return out;
}

size_t numberOf(const fs::path& file) {
    size_t out = 0;
    for (char c : file.filename().string())
        if (c >= '0' && c <= '9')
            out = out * 10 + static_cast<size_t>(c - '0');
    return out;
}

size_t dropOld(const fs::path& folder, size_t keep) {
    std::vector<fs::path> files = timingFiles(folder);
    size_t gone = 0;
    std::error_code error;
    for (size_t i = 0; i + keep < files.size(); ++i)
        gone += fs::remove(files[i], error) ? 1 : 0;
    return gone;
}

constexpr const char* predictedFile = "predicted.json"; ///< of a run that measured nothing

std::optional<fs::path> folderOf(const std::string& base, const std::string& hash) {
    std::error_code error;
    for (fs::directory_iterator at(base, error), end; !error && at != end; at.increment(error))
        if (at->path().filename().string().ends_with("." + hash))
            return at->path();
    return {};
}

/// "resnet50" of "resnet50.0123456789abcdef".
std::string idOf(const std::string& key) {
    return key.substr(0, key.rfind('.'));
}

/// The last written of this id and kind.
const BaselineEntry* lastOf(const std::vector<BaselineEntry>& entries, const ModelRun& model) {
    const BaselineEntry* out = nullptr;
    const std::string kind = kindOf(*model.report);
    for (const BaselineEntry& entry : entries)
        if (idOf(entry.key) == model.id && entry.provenance.kind == kind &&
            (out == nullptr || entry.provenance.order > out->provenance.order))
            out = &entry;
    return out;
}

/// Grows only where another structure was written since, so that git sees no change without one.
size_t orderOf(const fs::path& folder, const ModelRun& model) {
    const auto entries = listBaselines(folder.parent_path().string());
    const BaselineEntry* last = entries ? lastOf(*entries, model) : nullptr;
    if (last == nullptr)
        return 1;
    return last->key == folder.filename().string() ? std::max<size_t>(last->provenance.order, 1)
                                                   : last->provenance.order + 1;
}

Result<void> updateOne(const fs::path& folder, const ModelRun& model, const std::string& version,
                       const std::string& commit) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
        return failure("save.write", "the folder cannot be made: " + error.message(),
                       folder.string(), "check its permissions and free space");
    const RunReport run = alone(model, version);
    // Without a measurement what is predicted has no timings to be in.
    const fs::path predictions = folder / predictedFile;
    fs::remove(predictions, error);
    if (!model.report->after.measured)
        if (auto written = writeFile(app::renderTimings(run), predictions.string()); !written)
            return written;
    if (model.report->after.measured) {
        const auto files = timingFiles(folder);
        const size_t next = files.empty() ? 1 : numberOf(files.back()) + 1;
        if (auto written = writeFile(app::renderTimings(run),
                                     (folder / fmt::format("timings-{:06}.json", next)).string());
            !written)
            return written;
        dropOld(folder, baselineWindow);
    }
    const std::string provenance =
        fmt::format("commit = {}\nmachine = {}\nkind = {}\norder = {}\nruns = {}\n",
                    commit.empty() ? "unknown" : commit, model.report->machine.cpu,
                    kindOf(*model.report), orderOf(folder, model), timingFiles(folder).size());
    if (auto written = writeFile(provenance, (folder / "provenance.txt").string()); !written)
        return written;
    return writeFile(app::renderResults(run), (folder / "results.json").string());
}

} // namespace

std::string kindOf(const app::Report& report) {
    std::string out = report.machine.profile;
    if (report.machine.backend != out)
        out += " (run by " + report.machine.backend + ")";
    out += ", " + report.precision.name;
    for (const auto& [name, size] : report.model.dims)
        out += fmt::format(", {}={}", name, size);
    return out;
}

std::string baselineKey(const ModelRun& model) {
    return model.id + "." + hashOf(model);
}

Result<void> updateBaseline(const std::string& folder, const RunReport& run,
                            const std::string& commit) {
    for (const ModelRun& model : run.models)
        if (model.ran()) {
            const fs::path at =
                folderOf(folder, hashOf(model)).value_or(fs::path(folder) / baselineKey(model));
            if (auto updated = updateOne(at, model, run.version, commit); !updated)
                return updated;
        }
    return {};
}

Result<std::optional<Baseline>> findBaseline(const std::string& folder, const ModelRun& model) {
    auto at = folderOf(folder, hashOf(model));
    const bool isOther = !at;
    if (!at)
        if (const auto entries = listBaselines(folder))
            if (const BaselineEntry* last = lastOf(*entries, model))
                at = fs::path(folder) / last->key;
    if (!at)
        return std::optional<Baseline>();
    auto results = readFile((*at / "results.json").string());
    if (!results)
        return failure(results.error());
    std::optional<Baseline> out(Baseline{});
    out->isOfOtherStructure = isOther;
    std::vector<fs::path> files = timingFiles(*at);
    // The newest last: it stays the baseline's report.
    for (size_t i = 0; i < std::max<size_t>(files.size(), 1); ++i) {
        std::string times;
        if (i < files.size()) {
            auto text = readFile(files[i].string());
            if (!text)
                return failure(text.error());
            times = std::move(*text);
        }
        auto run = app::readRun(*results, times);
        if (!run || run->models.size() != 1 || !run->models[0].report)
            return failure("report.field", "the baseline cannot be read", at->string(),
                           "write it again with `fuselage baseline update`");
        out->report = std::move(*run->models[0].report);
        if (out->report.after.measured)
            out->history.push_back(out->report.after.measured->median);
    }
    if (auto text = readFile((*at / predictedFile).string()))
        if (auto run = app::readRun(*results, *text);
            run && run->models.size() == 1 && run->models[0].report) {
            const app::Report& newest = *run->models[0].report;
            out->report.before.predictedSeconds = newest.before.predictedSeconds;
            out->report.after.predictedSeconds = newest.after.predictedSeconds;
        }
    return out;
}

Result<std::vector<BaselineEntry>> listBaselines(const std::string& folder) {
    std::vector<BaselineEntry> out;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        auto text = readFile((at->path() / "provenance.txt").string());
        if (!text)
            continue;
        BaselineEntry entry{at->path().filename().string(), {}};
        std::istringstream lines(*text);
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("commit = "))
                entry.provenance.commit = line.substr(9);
            if (line.starts_with("machine = "))
                entry.provenance.machine = line.substr(10);
            if (line.starts_with("kind = "))
                entry.provenance.kind = line.substr(7);
            if (line.starts_with("order = ")) // none: an older version wrote it
                std::from_chars(line.data() + 8, line.data() + line.size(), entry.provenance.order);
        }
        entry.provenance.runs = timingFiles(at->path()).size();
        out.push_back(std::move(entry));
    }
    if (error)
        return failure("file.read", "the folder cannot be read: " + error.message(), folder);
    std::sort(out.begin(), out.end(),
              [](const BaselineEntry& a, const BaselineEntry& b) { return a.key < b.key; });
    return out;
}

std::vector<std::string> kindsOf(const std::string& folder, const std::string& id) {
    std::vector<std::string> out;
    if (auto entries = listBaselines(folder))
        for (const BaselineEntry& entry : *entries)
            if (idOf(entry.key) == id && !entry.provenance.kind.empty())
                out.push_back(entry.provenance.kind);
    return out;
}

std::vector<std::string> baselinesOfNobody(const std::string& folder, const RunReport& run) {
    const auto entries = listBaselines(folder);
    if (!entries || run.shards > 1 || !app::missingShards(run).empty())
        return {};
    std::set<std::string> ids, hashes, kinds, out;
    for (const ModelRun& model : run.models) {
        ids.insert(model.id);
        if (model.report) {
            hashes.insert(hashOf(model));
            kinds.insert(kindOf(*model.report));
        }
    }
    for (const BaselineEntry& entry : *entries) {
        const std::string id = idOf(entry.key), hash = entry.key.substr(entry.key.rfind('.') + 1);
        if (kinds.contains(entry.provenance.kind) && !ids.contains(id) && !hashes.contains(hash))
            out.insert(id);
    }
    return {out.begin(), out.end()};
}

Result<size_t> pruneBaseline(const std::string& folder, size_t keep) {
    auto entries = listBaselines(folder);
    if (!entries)
        return failure(entries.error());
    size_t gone = 0;
    for (const BaselineEntry& entry : *entries)
        gone += dropOld(fs::path(folder) / entry.key, keep);
    return gone;
}

} // namespace fuselage::batch
