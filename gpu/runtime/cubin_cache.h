// SPDX-License-Identifier: Apache-2.0
// Machine code of generated kernels, kept in a folder by content: the name of a file is a hash of
// everything that decides what is in it (text, architecture, options, NVRTC's version). Safe under
// writers of several processes: files are written beside and renamed, and checked when read.
#pragma once

#include "gpu/runtime/nvrtc.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace fuselage::gpu {

/// Where caches live: the folder that a person names ("none": nowhere, which is empty), else
/// $XDG_CACHE_HOME/fuselage or ~/.cache/fuselage; empty where neither can be known.
std::string cacheFolder(const std::string& named);

/// NVRTC with a memory. Safe to use from several threads; equal requests wait for one another.
class CubinCache {
public:
    /// `folder` is made when it is first written to; empty: remembers for this process only.
    CubinCache(std::shared_ptr<Nvrtc> compiler, std::string folder)
        : m_compiler(std::move(compiler)), m_folder(std::move(folder)) {}

    const Nvrtc& compiler() const { return *m_compiler; }

    /// Errors of Nvrtc::compile. A folder that cannot be written costs nothing but time.
    Result<std::shared_ptr<const CompiledKernel>> compile(const KernelText& kernel,
                                                          const CompileOptions& options);

    /// Kernels that were compiled, and that were read from the folder.
    uint32_t compiled() const { return m_compiled; }

    uint32_t found() const { return m_found; }

private:
    struct Entry {
        std::mutex mutex;
        std::shared_ptr<const CompiledKernel> kernel;
    };

    std::shared_ptr<Nvrtc> m_compiler;
    std::string m_folder;
    std::once_flag m_cleared; ///< of what killed processes left, before the first file is written
    std::mutex m_mutex;
    std::map<std::string, std::shared_ptr<Entry>> m_entries;
    std::atomic<uint32_t> m_compiled{0}, m_found{0};
};

} // namespace fuselage::gpu
