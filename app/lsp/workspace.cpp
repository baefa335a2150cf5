// SPDX-License-Identifier: Apache-2.0
#include "app/lsp/workspace.h"

#include "app/pipeline/imports.h"
#include "core/support/file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace fuselage::lsp {

namespace {

namespace fs = std::filesystem;

constexpr uintmax_t maxFileBytes = 4U << 20;
constexpr size_t maxFiles = 2000;

std::optional<std::string> ruleText(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > maxFileBytes)
        return std::nullopt;
    Result<std::string> text = readFile(path.string());
    return text ? std::optional(std::move(*text)) : std::nullopt;
}

FileStamp stampOf(const fs::path& path) {
    std::error_code error;
    FileStamp out;
    out.time = fs::last_write_time(path, error);
    out.size = fs::file_size(path, error);
    return out;
}

/// Of a file that is not open; nothing when it cannot be read.
std::optional<Document> documentOf(const std::string& path) {
    const FileStamp stamp = stampOf(path); // before the text: a write between is seen next time
    std::optional<std::string> text = ruleText(path);
    if (!text)
        return std::nullopt;
    return Document{path, uriOfPath(path), std::move(*text), false, stamp};
}

bool contains(const fs::path& folder, const fs::path& file) {
    const fs::path inside = file.lexically_relative(folder);
    return !inside.empty() && *inside.begin() != "..";
}

std::string nameOf(const std::string& uri) {
    const std::string path = pathOfUri(uri);
    return path.empty() ? uri : fs::path(path).lexically_normal().string();
}

/// Files that texts of the group import without a folder.
std::set<std::string> bareImports(const Group& group) {
    constexpr std::string_view word = "import \"";
    std::set<std::string> out;
    for (const auto& [name, document] : group.documents)
        for (size_t at = document.text.find(word); at != std::string::npos;
             at = document.text.find(word, at + 1)) {
            const size_t begin = at + word.size();
            const size_t end = document.text.find('"', begin);
            if (end != std::string::npos)
                out.insert(document.text.substr(begin, end - begin));
        }
    return out;
}

/// A file of the built-in library as a person may look at it: a copy that is not to be edited.
/// Empty: there is no such file, or no place for it.
std::string libraryFile(const std::string& name) {
    auto text = app::builtinImport(name);
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (!text || (!cache && !home))
        return {};
    const fs::path path =
        (cache ? fs::path(cache) : fs::path(home) / ".cache") / "fuselage" / (name + ".fuse");
    if (auto known = ruleText(path); known && *known == *text)
        return path.string();
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (!writeFile(*text, path.string()))
        return {};
    fs::permissions(path, fs::perms::owner_read | fs::perms::group_read, error);
    return path.string();
}

std::string withoutSlash(std::string folder) {
    while (folder.size() > 1 && folder.back() == '/')
        folder.pop_back();
    return folder;
}

} // namespace

Group& Workspace::groupOf(const std::string& name) {
    std::string folder = withoutSlash(fs::path(name).parent_path().string());
    bool ofProject = false;
    std::error_code error;
    for (const std::string& pattern : m_project.patterns)
        if (fs::is_directory(pattern, error) && contains(withoutSlash(pattern), name)) {
            folder = withoutSlash(pattern);
            ofProject = true;
        }
    auto [entry, isNew] = m_groups.try_emplace(folder);
    if (isNew) {
        entry->second.folder = folder;
        entry->second.ofProject = ofProject;
        load(entry->second);
    }
    return entry->second;
}

void Workspace::load(Group& group) {
    group.service =
        std::make_unique<dsl::LanguageService>(resolver(group), m_words, group.ofProject);
    if (group.ofProject)
        readFiles(group, Reread::All);
}

/// True when a text changed, came or went.
bool Workspace::readFiles(Group& group, Reread which) {
    std::vector<std::string> files;
    if (auto found = app::ruleFiles(group.folder))
        files = std::move(*found);
    files.resize(std::min(files.size(), maxFiles));
    bool changed = false;
    std::set<std::string> gone;
    for (const auto& [name, document] : group.documents)
        if (!document.open)
            gone.insert(name);
    for (const std::string& file : files) {
        auto known = group.documents.find(file);
        const bool isKnown = known != group.documents.end();
        const bool isOpen = isKnown && known->second.open;
        const bool isSame =
            isKnown && which == Reread::Written && known->second.stamp == stampOf(file);
        std::optional<Document> read;
        if (!isOpen && !isSame)
            read = documentOf(file);
        if (isSame || read)
            gone.erase(file);
        if (!read)
            continue;
        changed |= !isKnown || known->second.text != read->text;
        if (isKnown)
            read->uri = known->second.uri; // as the client writes it
        group.documents[file] = std::move(*read);
    }
    for (const std::string& name : gone) {
        group.documents.erase(name);
        group.service->remove(name);
    }
    return changed || !gone.empty();
}

void Workspace::readAgain(Reread which) {
    for (auto& [folder, group] : m_groups) {
        const bool isOther = group.ofProject && readFiles(group, which);
        if (group.service->readImportsAgain() || isOther)
            sync(group);
    }
}

/// "F/a" is a.fuse in the folder F itself, "a" as well; then the project's search path.
std::vector<std::string> Workspace::importFolders(const Group& group) const {
    std::vector<std::string> out{fs::path(group.folder).parent_path().string(), group.folder};
    out.insert(out.end(), m_project.importPath.begin(), m_project.importPath.end());
    return out;
}

dsl::ImportResolver Workspace::resolver(const Group& group) const {
    return app::importLookup(importFolders(group));
}

std::vector<dsl::RuleInput> Workspace::inputs(const Group& group) const {
    const std::set<std::string> bare = bareImports(group);
    std::vector<dsl::RuleInput> out;
    for (const auto& [name, document] : group.documents) {
        const fs::path path(name);
        fs::path import = path.lexically_relative(fs::path(group.folder).parent_path());
        // Both names are in use, and a text loaded by two of them would define everything twice.
        const bool isBare = bare.contains(path.stem().string());
        out.push_back(
            {name, document.text,
             isBare ? path.stem().string() : import.replace_extension().generic_string()});
    }
    return out;
}

void Workspace::sync(Group& group) {
    for (const dsl::RuleInput& input : inputs(group))
        group.service->set(input.name, *input.text, input.importPath);
    group.service->readImportsAgain();
    group.changed = true;
    ++group.revision;
}

void Workspace::set(const std::string& uri, std::string text) {
    const std::string name = nameOf(uri);
    Group& group = groupOf(name);
    group.documents[name] = {name, uri, std::move(text), true};
    sync(group);
}

void Workspace::close(const std::string& uri) {
    Document* closed = document(uri);
    if (!closed)
        return;
    Group& group = *find(uri);
    const std::string name = closed->name;
    std::optional<Document> onDisk = group.ofProject ? documentOf(name) : std::nullopt;
    if (onDisk) {
        onDisk->uri = uri;
        *closed = std::move(*onDisk);
    } else {
        group.documents.erase(name);
        group.service->remove(name);
    }
    if (group.documents.empty())
        m_groups.erase(group.folder);
    else
        sync(group);
}

Group* Workspace::find(const std::string& uri) {
    const std::string name = nameOf(uri);
    for (auto& [folder, group] : m_groups)
        if (auto found = group.documents.find(name);
            found != group.documents.end() && found->second.open)
            return &group;
    return nullptr;
}

Document* Workspace::document(const std::string& uri) {
    Group* group = find(uri);
    return group ? &group->documents.find(nameOf(uri))->second : nullptr;
}

std::string Workspace::uriOf(const Group& group, const std::string& name) const {
    if (auto found = group.documents.find(name); found != group.documents.end())
        return found->second.uri;
    std::string file = app::importedFile(importFolders(group), name);
    if (file.empty())
        file = libraryFile(name);
    return file.empty() ? std::string() : uriOfPath(file);
}

} // namespace fuselage::lsp
