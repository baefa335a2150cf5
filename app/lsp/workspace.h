// SPDX-License-Identifier: Apache-2.0
// The rule texts that an editor works on: those that are open, the other files of the project's
// rule folders, and what they import from disk. Each folder has a language service of its own; the
// texts of a rule folder of the project are checked together, others each with what it imports.
#pragma once

#include "app/lsp/project.h"
#include "dsl/service/service.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fuselage::lsp {

/// What tells that a file was written since.
struct FileStamp {
    std::filesystem::file_time_type time = {};
    uintmax_t size = 0;

    friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// A rule file as an editor or the project names it.
struct Document {
    std::string name; ///< its path, or its URI when it is no file
    std::string uri;
    std::string text;
    bool open = false;
    FileStamp stamp = {}; ///< of the file that the text was read from
};

/// A folder of rule files.
struct Group {
    std::string folder;
    bool ofProject = false; ///< all files of the folder belong to it, open or not
    std::map<std::string, Document> documents;
    std::unique_ptr<dsl::LanguageService> service;
    bool changed = false;  ///< since diagnostics were published
    uint64_t revision = 0; ///< grows with every change of a text
};

class Workspace {
public:
    Workspace(Project project, dsl::ServiceWords words)
        : m_project(std::move(project)), m_words(std::move(words)) {}

    /// Opens or replaces the text of a URI.
    void set(const std::string& uri, std::string text);
    /// Back to what is on disk, or forgotten.
    void close(const std::string& uri);

    /// Which files that are not open are read again.
    enum class Reread {
        Written, ///< whose time or size is another
        All,     ///< each: before places in them are given out to be changed
    };

    /// Takes what other programs wrote, made and removed: files of rule folders that are not open,
    /// and what texts import. Groups that differ then are `changed`.
    void readAgain(Reread which);

    /// The group that holds the open text; null when it is not open.
    Group* find(const std::string& uri);
    Document* document(const std::string& uri);

    std::map<std::string, Group>& groups() { return m_groups; }

    /// The URI to show a place of the service in; empty for texts that are no file.
    std::string uriOf(const Group& group, const std::string& name) const;

    /// What the group's rules are compiled from, for other threads.
    std::vector<dsl::RuleInput> inputs(const Group& group) const;
    dsl::ImportResolver resolver(const Group& group) const;

private:
    std::vector<std::string> importFolders(const Group& group) const;
    Group& groupOf(const std::string& name);
    void load(Group& group);
    bool readFiles(Group& group, Reread which);
    void sync(Group& group);

    Project m_project;
    dsl::ServiceWords m_words;
    std::map<std::string, Group> m_groups; ///< by folder
};

} // namespace fuselage::lsp
