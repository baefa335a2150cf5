// SPDX-License-Identifier: Apache-2.0
// Which models a run has, by which ids, and which of them are this shard's.
#include "app/batch/run.h"
#include "core/support/hash.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

namespace fuselage::batch {

namespace fs = std::filesystem;

namespace {

bool isModelName(const fs::path& path) {
    std::string ending = path.extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return ending == ".onnx";
}

/// "speech-encoder-model" of "x/speech/encoder/model.onnx" with two folders.
std::string idWithFolders(const std::string& file, size_t folders) {
    std::string out = app::modelId(file);
    fs::path folder = fs::path(file).lexically_normal().parent_path();
    for (; folders > 0 && !folder.filename().empty(); --folders, folder = folder.parent_path())
        out.insert(0, app::modelId(folder.filename().string()) + "-");
    return out;
}

/// Ids of files, in their order: the name alone, and where several have it the fewest folders
/// before it that tell all of these apart, so that a model that comes later takes no other's id.
std::vector<std::string> idsOfFiles(const std::vector<std::string>& files) {
    std::map<std::string, std::vector<size_t>> alike; // by their names
    for (size_t i = 0; i < files.size(); ++i)
        alike[app::modelId(files[i])].push_back(i);
    constexpr size_t mostFolders = 16;
    std::vector<std::string> out(files.size());
    std::set<std::string> taken;
    for (const auto& [name, members] : alike) {
        size_t folders = 0;
        for (bool apart = members.size() == 1; !apart && folders < mostFolders;) {
            ++folders;
            std::set<std::string> ids;
            for (size_t i : members)
                ids.insert(idWithFolders(files[i], folders));
            apart = ids.size() == members.size();
        }
        for (size_t i : members) {
            const std::string id = idWithFolders(files[i], folders);
            out[i] = id;
            for (size_t n = 2; !taken.insert(out[i]).second; ++n) // "a b" and "a_b" are one id
                out[i] = id + "-" + std::to_string(n);
        }
    }
    return out;
}

/// A link to a file that is not there is a broken model, and not none.
Result<void> addFolder(const std::string& folder, std::vector<std::string>& files) {
    std::error_code error, ignored;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (isModelName(at->path()) && !at->is_directory(ignored))
            files.push_back(at->path().string());
    if (error)
        return failure("load.file", "the folder cannot be read: " + error.message(), folder);
    return {};
}

} // namespace

Result<Shard> parseShard(const std::string& text) {
    Shard out;
    const size_t slash = text.find('/');
    auto number = [](std::string_view digits, size_t& value) {
        auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc() && end == digits.data() + digits.size();
    };
    const std::string_view all = text;
    if (slash == std::string::npos || !number(all.substr(0, slash), out.index) ||
        !number(all.substr(slash + 1), out.of) || out.index < 1 || out.index > out.of)
        return failure("usage.shard", "`" + text + "` is not I/N with 1 <= I <= N", "--shard",
                       "write e.g. --shard 1/4");
    return out;
}

Result<std::vector<ModelFile>> findModels(const std::vector<std::string>& paths) {
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        std::error_code error;
        if (fs::is_directory(path, error)) {
            if (auto added = addFolder(path, files); !added)
                return failure(added.error());
        } else {
            // One that is not there is a broken model, not a broken run.
            files.push_back(path);
        }
    }
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    if (files.empty())
        return failure("usage.models", "there is no .onnx file in what was given", "",
                       "name model files, or folders that hold some");
    const std::vector<std::string> ids = idsOfFiles(files);
    std::vector<ModelFile> out;
    for (size_t i = 0; i < files.size(); ++i)
        out.push_back({ids[i], files[i]});
    std::sort(out.begin(), out.end(),
              [](const ModelFile& a, const ModelFile& b) { return a.id < b.id; });
    return out;
}

std::vector<ModelFile> ofShard(const std::vector<ModelFile>& models, const Shard& shard) {
    std::vector<ModelFile> out;
    for (const ModelFile& model : models)
        if (Hasher().text(model.id).value() % shard.of == shard.index - 1)
            out.push_back(model);
    return out;
}

} // namespace fuselage::batch
