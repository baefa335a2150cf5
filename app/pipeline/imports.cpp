// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/imports.h"

#include "core/support/file.h"
#include "core/support/text.h"

#include <algorithm>
#include <filesystem>

namespace fuselage::app {

namespace {

namespace fs = std::filesystem;

bool staysBelow(const fs::path& relative) {
    return !relative.is_absolute() && (relative.empty() || *relative.begin() != "..");
}

} // namespace

std::vector<std::string> importFolders(const RuleOptions& options) {
    std::vector<std::string> out;
    auto add = [&](std::string folder) {
        folder = folder.empty() ? "." : std::move(folder);
        if (std::find(out.begin(), out.end(), folder) == out.end())
            out.push_back(std::move(folder));
    };
    std::error_code error;
    for (const std::string& path : options.paths)
        add(fs::is_directory(path, error) ? path : fs::path(path).parent_path().string());
    for (const std::string& folder : options.importPath)
        add(folder);
    return out;
}

std::string importedFile(const std::vector<std::string>& folders, const std::string& path) {
    const fs::path relative = fs::path(path).lexically_normal();
    std::error_code error;
    for (const std::string& folder : folders) {
        fs::path file = fs::path(folder) / relative;
        file += ".fuse";
        if (staysBelow(relative) && fs::is_regular_file(file, error))
            return file.string();
    }
    return {};
}

dsl::ImportResolver importLookup(std::vector<std::string> folders) {
    return [folders = std::move(folders)](const std::string& path) -> Result<std::string> {
        if (auto builtin = builtinImport(path))
            return builtin;
        if (const std::string file = importedFile(folders, path); !file.empty())
            return readFile(file);
        if (!staysBelow(fs::path(path).lexically_normal()))
            return failure("rules.import", "`" + path + "` is not below the folder of the rules");
        const std::string where = folders.empty() ? "" : ", and none in " + joined(folders);
        return failure("rules.import", "no built-in file `" + path + "`" + where);
    };
}

} // namespace fuselage::app
