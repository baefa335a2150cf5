// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/cubin_cache.h"

#include "core/support/hash.h"
#include "gpu/runtime/checked_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <sstream>

namespace fuselage::gpu {

namespace {

constexpr const char* header = "fuselage-cubin 2";

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

std::string contentOf(const CompiledKernel& kernel) {
    return fmt::format("{} {} {}\n", kernel.registers, kernel.sharedBytes, kernel.localBytes) +
           kernel.cubin;
}

std::optional<CompiledKernel> readKernel(const std::string& path) {
    const std::optional<std::string> content = readChecked(path, header);
    const size_t end = content ? content->find('\n') : std::string::npos;
    if (end == std::string::npos)
        return std::nullopt;
    CompiledKernel out;
    std::istringstream fields(content->substr(0, end));
    if (!(fields >> out.registers >> out.sharedBytes >> out.localBytes))
        return std::nullopt;
    out.cubin = content->substr(end + 1);
    return out;
}

} // namespace

std::string cacheFolder(const std::string& named) {
    if (!named.empty())
        return named == "none" ? "" : named;
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
        std::call_once(m_cleared, clearAbandoned, folder);
        writeChecked(folder, key, header, contentOf(*entry->kernel));
    }
    return entry->kernel;
}

} // namespace fuselage::gpu
