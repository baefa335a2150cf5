// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries, opened at run time: nothing here is linked, so one binary starts on every
// machine and says what it found. A missing or wrong library disables its tactic with a reason.
#pragma once

#include "core/support/reason.h"
#include "core/support/result.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::gpu {

/// One library as it was found.
struct LibraryFacts {
    std::string name;              ///< "libnvrtc"
    std::string path;              ///< file that was opened, empty when missing
    std::string version;           ///< "13.0", empty when unknown
    std::optional<Reason> missing; ///< library-missing(name, what was tried)
};

/// A loaded shared object with typed symbol lookup. Unloaded when the last owner goes.
class SharedLibrary {
public:
    /// Tries the names in order: plain sonames, then the toolkit's folders. Where the environment
    /// variable FUSELAGE_CUDA_LIBRARIES names a folder, only that one.
    static Result<std::shared_ptr<SharedLibrary>> open(const std::vector<std::string>& names);
    ~SharedLibrary();
    SharedLibrary(const SharedLibrary&) = delete;
    SharedLibrary& operator=(const SharedLibrary&) = delete;

    template <typename Function> Function symbol(const char* name) const {
        return reinterpret_cast<Function>(address(name));
    }

    const std::string& path() const { return m_path; }

private:
    SharedLibrary(void* handle, std::string path) : m_handle(handle), m_path(std::move(path)) {}

    void* address(const char* name) const; ///< null when absent

    void* m_handle;
    std::string m_path;
};

/// Fills pointers to a library's functions by name and remembers the first that it lacks.
class SymbolReader {
public:
    explicit SymbolReader(const SharedLibrary& library) : m_library(library) {}

    template <typename Function> void operator()(Function& function, const char* name) {
        function = m_library.symbol<Function>(name);
        if (function == nullptr && m_absent.empty())
            m_absent = name;
    }

    const std::string& absent() const { return m_absent; } ///< empty: none

private:
    const SharedLibrary& m_library;
    std::string m_absent;
};

/// Names of a library's files, the preferred one first; `name` as in LibraryFacts. A library of a
/// toolkit that is newer than the driver is not among them: with a driver for CUDA 12, NVRTC 12 is
/// opened beside NVRTC 13, whose machine code the driver does not load.
std::vector<std::string> fileNamesOf(std::string_view name);

/// What is here of libcuda, NVRTC, cuBLASLt, cuDNN, CUPTI and NVML, in that order; for `doctor`,
/// reports and cache keys.
std::vector<LibraryFacts> inspectLibraries();

} // namespace fuselage::gpu
