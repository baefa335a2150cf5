// SPDX-License-Identifier: Apache-2.0
// toml++, whose exceptions end here.
#include "app/batch/project_file.h"

#include "app/batch/toml_problem_internal.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace fuselage::batch {

namespace fs = std::filesystem;

namespace {

constexpr const char* modelTable = "model";

constexpr const char* projectName = "fuselage.toml";

/// Options whose values name files or folders; `none` is nothing's name.
constexpr std::array pathOptions{
    "baseline",    "cache",  "data",       "dump-kernels", "expect",      "gain-cache", "gate",
    "import-path", "inputs", "model",      "models",       "output",      "patterns",   "plan",
    "plan-out",    "report", "save-fused", "save-outputs", "timing-cache"};
/// Those that take the name of something built in as well: a file's has a slash or ends in .toml.
constexpr std::array nameOrPathOptions{"device", "profile"};

bool isPath(const std::string& option, const std::string& text) {
    const auto isIn = [&](const auto& options) {
        return std::find(options.begin(), options.end(), option) != options.end();
    };
    if (isIn(nameOrPathOptions))
        return text.find('/') != std::string::npos || text.ends_with(".toml");
    return isIn(pathOptions) && text != "none" && !text.starts_with('-'); // "-.json": printed
}

class Reader {
public:
    Reader(std::string path) : m_path(std::move(path)) {}

    Result<void> table(const toml::table& table, const std::string& command) {
        std::vector<std::pair<const toml::key*, const toml::node*>> entries;
        for (const auto& [key, node] : table)
            entries.emplace_back(&key, &node);
        // toml++ sorts by name; a person reads lines.
        std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
            return a.first->source().begin < b.first->source().begin;
        });
        for (const auto& [key, node] : entries) {
            const std::string name(key->str());
            const toml::table* inner = node->as_table();
            auto added = inner != nullptr && name == modelTable && command.empty() ? models(*inner)
                         : inner != nullptr && name != "dim"
                             ? command.empty() ? this->table(*inner, name)
                                               : wrong(*node, "`" + name + "` is no option")
                             : option(command, name, *node);
            if (!added)
                return added;
        }
        return {};
    }

    /// One table for each pattern of ids.
    Result<void> models(const toml::table& patterns) {
        for (const auto& [pattern, node] : patterns) {
            const toml::table* options = node.as_table();
            if (options == nullptr)
                return failure("usage.project",
                               fmt::format("`{}` is no table of options", pattern.str()),
                               place(node), "write [model.\"resnet50*\"] and options below it");
            m_model = pattern.str();
            if (auto read = table(*options, modelTable); !read)
                return read;
        }
        m_model.clear();
        return {};
    }

    std::vector<ProjectOption> take() { return std::move(m_options); }

private:
    Result<void> wrong(const toml::node& node, const std::string& what) const {
        return failure("usage.project", what, place(node),
                       "write a text, a number, true or false, or a list of them");
    }

    std::string place(const toml::node& node) const {
        return fmt::format("{}:{}", m_path, node.source().begin.line);
    }

    Result<void> option(const std::string& command, const std::string& name,
                        const toml::node& node) {
        ProjectOption out{command, name, {}, place(node), m_model};
        if (const toml::table* dims = node.as_table()) {
            for (const auto& [symbol, size] : *dims) {
                auto value = size.value<int64_t>();
                if (!value || !size.is_integer())
                    return wrong(size, fmt::format("the size of `{}` is no number", symbol.str()));
                // For all models of a project: each has some of them.
                out.values.push_back(
                    fmt::format("{}{}={}", symbol.str(), m_model.empty() ? "?" : "", *value));
            }
        } else if (const toml::array* list = node.as_array()) {
            for (const toml::node& item : *list)
                if (auto text = scalar(name, item))
                    out.values.push_back(*text);
                else
                    return wrong(item, "`" + name + "` holds what is no value");
        } else if (auto text = scalar(name, node)) {
            out.values.push_back(*text);
        } else {
            return wrong(node, "`" + name + "` is no value");
        }
        m_options.push_back(std::move(out));
        return {};
    }

    std::optional<std::string> scalar(const std::string& name, const toml::node& node) const {
        if (node.is_boolean())
            return *node.value<bool>() ? "true" : "false";
        if (node.is_integer())
            return fmt::format("{}", *node.value<int64_t>());
        if (node.is_floating_point())
            return fmt::format("{}", *node.value<double>());
        auto text = node.value<std::string>();
        if (!text || !isPath(name, *text))
            return text;
        const fs::path path(*text);
        return path.is_absolute()
                   ? *text
                   : (fs::path(m_path).parent_path() / path).lexically_normal().string();
    }

    std::string m_path, m_model;
    std::vector<ProjectOption> m_options;
};

} // namespace

Result<std::vector<ProjectOption>> readProject(const std::string& text, const std::string& path) {
    toml::table root;
    try {
        root = toml::parse(text, path);
    } catch (const toml::parse_error& error) {
        return failure("usage.project", tomlProblem(error.description()),
                       fmt::format("{}:{}", path, error.source().begin.line),
                       "write e.g. device = \"h200\"");
    }
    Reader reader(path);
    if (auto read = reader.table(root, ""); !read)
        return failure(read.error());
    return reader.take();
}

std::string findProject() {
    std::error_code error;
    const fs::path start = fs::current_path(error);
    if (error)
        return {};
    for (fs::path folder = start;; folder = folder.parent_path()) {
        if (fs::is_regular_file(folder / projectName, error))
            return (folder / projectName).lexically_relative(start).string();
        if (folder == folder.parent_path())
            return {};
    }
}

} // namespace fuselage::batch
