// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/checked_file.h"

#include "core/support/file.h"
#include "core/support/hash.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace fuselage::gpu {

std::optional<std::string> readChecked(const std::string& path, std::string_view header) {
    std::ifstream file(path, std::ios::binary);
    std::string first, second;
    if (!std::getline(file, first) || first != header || !std::getline(file, second))
        return std::nullopt;
    size_t size = 0;
    std::string hash;
    if (std::istringstream fields(second); !(fields >> size >> hash))
        return std::nullopt;
    std::string out(std::istreambuf_iterator<char>(file), {});
    if (out.size() != size || Hasher().text(out).hex() != hash)
        return std::nullopt;
    return out;
}

void writeChecked(const std::string& folder, const std::string& name, std::string_view header,
                  std::string_view content) {
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    std::string bytes =
        fmt::format("{}\n{} {}\n", header, content.size(), Hasher().text(content).hex());
    bytes += content;
    (void)writeFile(bytes, folder + "/" + name);
}

void clearAbandoned(const std::string& folder) {
    namespace fs = std::filesystem;
    constexpr auto abandoned = std::chrono::hours(1);
    clearUnfinished(folder, [&](const std::string& path) {
        std::error_code ignored;
        return fs::file_time_type::clock::now() - fs::last_write_time(path, ignored) > abandoned;
    });
}

} // namespace fuselage::gpu
