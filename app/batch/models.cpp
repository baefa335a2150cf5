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

/// Ids of these files, which have one name, with the fewest folders that tell them apart and give
/// none an id that is taken; empty: no folders do.
std::vector<std::string> idsApart(const std::vector<std::string>& files,
                                  const std::set<std::string>& taken) {
    // The names of the files of a model hold its id, and more.
    constexpr size_t mostFolders = 16, longest = 200;
    for (size_t folders = 1; folders <= mostFolders; ++folders) {
        std::vector<std::string> out;
        std::set<std::string> seen = taken;
        for (const std::string& file : files) {
            std::string id = idWithFolders(file, folders);
            if (id.size() <= longest && seen.insert(id).second)
                out.push_back(std::move(id));
        }
        if (out.size() == files.size())
            return out;
    }
    return {};
}

/// Ids of files, in their order: the name alone, and where several have it the folders before it,
/// so that a model that comes later takes no other's id. A number is the last resort.
std::vector<std::string> idsOfFiles(const std::vector<std::string>& files) {
    std::map<std::string, std::vector<size_t>> alike; // by their names
    for (size_t i = 0; i < files.size(); ++i)
        alike[app::modelId(files[i])].push_back(i);
    std::vector<std::string> out(files.size());
    std::set<std::string> taken;
    for (const auto& [name, members] : alike)
        if (members.size() == 1) {
            out[members[0]] = name;
            taken.insert(name);
        }
    for (const auto& [name, members] : alike) {
        if (members.size() == 1)
            continue;
        std::vector<std::string> paths;
        for (size_t i : members)
            paths.push_back(files[i]);
        std::vector<std::string> ids = idsApart(paths, taken);
        ids.resize(members.size(), name); // "a b" and "a_b" of one folder are one id
        for (size_t k = 0; k < members.size(); ++k) {
            std::string id = ids[k];
            for (size_t n = 2; !taken.insert(id).second; ++n)
                id = ids[k] + "-" + std::to_string(n);
            out[members[k]] = std::move(id);
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
    std::set<std::string> seen; // "./net.onnx" is "net.onnx"
    std::erase_if(files, [&](const std::string& file) {
        return !seen.insert(fs::path(file).lexically_normal().string()).second;
    });
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
