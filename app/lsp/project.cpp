// SPDX-License-Identifier: Apache-2.0
#include "app/lsp/project.h"

#include <toml++/toml.h>

#include <filesystem>

namespace fuselage::lsp {

namespace {

namespace fs = std::filesystem;

std::string absolute(const fs::path& folder, const std::string& path) {
    return (folder / path).lexically_normal().string();
}

int hexValue(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

} // namespace

Result<Project> readProject(const std::string& folder) {
    const fs::path file = fs::path(folder) / "fuselage.toml";
    std::error_code missing;
    if (folder.empty() || !fs::is_regular_file(file, missing))
        return Project{};
    try {
        const toml::table table = toml::parse_file(file.string());
        Project out;
        auto read = [&](const char* key, std::vector<std::string>& paths) {
            if (const toml::array* list = table[key].as_array())
                for (const toml::node& entry : *list)
                    if (auto path = entry.value<std::string>())
                        paths.push_back(absolute(folder, *path));
        };
        read("patterns", out.patterns);
        read("import-path", out.importPath);
        if (auto model = table["lsp"]["model"].value<std::string>())
            out.model = absolute(folder, *model);
        return out;
    } catch (const toml::parse_error& error) {
        return failure("project.read", std::string(error.description()), file.string(),
                       "mend the file");
    }
}

std::string pathOfUri(const std::string& uri) {
    constexpr std::string_view scheme = "file://";
    if (!uri.starts_with(scheme))
        return {};
    std::string out;
    for (size_t i = scheme.size(); i < uri.size(); ++i) {
        const bool escaped = uri[i] == '%' && i + 2 < uri.size() && hexValue(uri[i + 1]) >= 0 &&
                             hexValue(uri[i + 2]) >= 0;
        out +=
            escaped ? static_cast<char>(hexValue(uri[i + 1]) * 16 + hexValue(uri[i + 2])) : uri[i];
        i += escaped ? 2 : 0;
    }
    return out;
}

std::string uriOfPath(const std::string& path) {
    constexpr std::string_view plain = "/-._~";
    constexpr const char* digits = "0123456789ABCDEF";
    std::string out = "file://";
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        const bool letter = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (letter || plain.find(c) != std::string_view::npos)
            out += c;
        else
            out += {'%', digits[byte / 16], digits[byte % 16]};
    }
    return out;
}

} // namespace fuselage::lsp
