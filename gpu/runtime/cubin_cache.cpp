// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/cubin_cache.h"

#include "core/support/file.h"
#include "core/support/hash.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace fuselage::gpu {

namespace {

constexpr const char* header = "fuselage-cubin 1";

/// 32 hexadecimal digits over everything that decides what the compiler makes.
std::string keyOf(const KernelText& kernel, const CompileOptions& options,
                  const std::string& version) {
    std::string out;
    for (int half = 0; half < 2; ++half)
        out += Hasher()
                   .number(half)
                   .text(header)
                   .text(kernel.name)
                   .text(kernel.source)
                   .text(options.arch)
                   .number(options.contraction)
                   .number(options.maxRegisters)
                   .text(version)
                   .hex();
    return out;
}

std::string fileText(const CompiledKernel& kernel) {
    return fmt::format("{}\n{} {} {} {} {}\n", header, kernel.registers, kernel.sharedBytes,
                       kernel.localBytes, kernel.cubin.size(), Hasher().text(kernel.cubin).hex()) +
           kernel.cubin;
}

/// None when the file is not there or not whole: it is then made again.
std::optional<CompiledKernel> readKernel(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string first, second;
    if (!std::getline(file, first) || first != header || !std::getline(file, second))
        return std::nullopt;
    CompiledKernel out;
    size_t size = 0;
    std::string hash;
    std::istringstream fields(second);
    if (!(fields >> out.registers >> out.sharedBytes >> out.localBytes >> size >> hash))
        return std::nullopt;
    out.cubin.assign(std::istreambuf_iterator<char>(file), {});
    if (out.cubin.size() != size || Hasher().text(out.cubin).hex() != hash)
        return std::nullopt;
    return out;
}

/// What killed processes left half-written. A file that was touched lately may be another's at
/// work, on this machine or on one that shares the folder.
void clearAbandoned(const std::string& folder) {
    namespace fs = std::filesystem;
    constexpr auto abandoned = std::chrono::hours(1);
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        if (at->path().extension() == ".part" &&
            fs::file_time_type::clock::now() - at->last_write_time(ignored) > abandoned)
            fs::remove(at->path(), ignored);
    }
}

} // namespace

std::string defaultCacheFolder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/')
        return std::string(cache) + "/fuselage";
    const char* home = std::getenv("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.cache/fuselage" : "";
}

Result<std::shared_ptr<const CompiledKernel>> CubinCache::compile(const KernelText& kernel,
                                                                  const CompileOptions& options) {
    const std::string key = keyOf(kernel, options, m_compiler->version());
    std::shared_ptr<Entry> entry;
    {
        std::lock_guard lock(m_mutex);
        std::shared_ptr<Entry>& slot = m_entries[key];
        if (!slot)
            slot = std::make_shared<Entry>();
        entry = slot;
    }
    std::lock_guard lock(entry->mutex);
    if (entry->kernel)
        return entry->kernel;
    const std::string folder = m_folder.empty() ? "" : m_folder + "/cubin";
    const std::string path = folder + "/" + key;
    if (!folder.empty())
        if (auto read = readKernel(path)) {
            ++m_found;
            entry->kernel = std::make_shared<const CompiledKernel>(std::move(*read));
            return entry->kernel;
        }
    auto made = m_compiler->compile(kernel, options);
    if (!made)
        return failure(made.error());
    ++m_compiled;
    entry->kernel = std::make_shared<const CompiledKernel>(std::move(*made));
    if (!folder.empty()) {
        std::error_code ignored;
        std::filesystem::create_directories(folder, ignored);
        std::call_once(m_cleared, clearAbandoned, folder);
        (void)writeFile(fileText(*entry->kernel), path); // without it the next run compiles again
    }
    return entry->kernel;
}

} // namespace fuselage::gpu
