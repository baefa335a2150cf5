// SPDX-License-Identifier: Apache-2.0
// Finds shared objects by soname, then in the folders where toolkits install. Asks a library for
// its version with the one call that needs neither a device nor a handle.
#include "gpu/libraries.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace fuselage::gpu {

namespace {

/// Folders of toolkits in order of preference; those that the environment names come first.
std::vector<std::string> toolkitFolders() {
    std::vector<std::string> out;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CUDNN_PATH"})
        if (const char* root = std::getenv(variable); root != nullptr && *root != '\0')
            for (const char* folder : {"lib64", "lib"})
                out.push_back(std::string(root) + "/" + folder);
    for (const char* folder :
         {"/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib",
          "/usr/local/cuda/targets/sbsa-linux/lib", "/usr/local/cuda/extras/CUPTI/lib64",
          "/opt/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
          "/usr/lib64", "/usr/lib/wsl/lib"})
        out.emplace_back(folder);
    return out;
}

struct LibraryRow {
    const char* name;
    std::vector<std::string> sonames;
    std::string (*version)(const SharedLibrary&);
};

std::string twoPart(int major, int minor) {
    return fmt::format("{}.{}", major, minor);
}

std::string driverVersion(const SharedLibrary& library) {
    int version = 0;
    auto ask = library.symbol<int (*)(int*)>("cuDriverGetVersion");
    return ask != nullptr && ask(&version) == 0 ? twoPart(version / 1000, version % 1000 / 10) : "";
}

std::string nvrtcVersion(const SharedLibrary& library) {
    int major = 0, minor = 0;
    auto ask = library.symbol<int (*)(int*, int*)>("nvrtcVersion");
    return ask != nullptr && ask(&major, &minor) == 0 ? twoPart(major, minor) : "";
}

std::string cublasLtVersion(const SharedLibrary& library) {
    auto ask = library.symbol<size_t (*)()>("cublasLtGetVersion");
    if (ask == nullptr)
        return "";
    const size_t version = ask();
    return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string cudnnVersion(const SharedLibrary& library) {
    auto ask = library.symbol<size_t (*)()>("cudnnGetVersion");
    if (ask == nullptr)
        return "";
    const size_t version = ask();
    return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string cuptiVersion(const SharedLibrary& library) {
    uint32_t version = 0;
    auto ask = library.symbol<int (*)(uint32_t*)>("cuptiGetVersion");
    return ask != nullptr && ask(&version) == 0 ? std::to_string(version) : "";
}

std::string nvmlVersion(const SharedLibrary& library) {
    std::array<char, 96> version{};
    auto start = library.symbol<int (*)()>("nvmlInit_v2");
    auto ask = library.symbol<int (*)(char*, unsigned)>("nvmlSystemGetNVMLVersion");
    const bool told = start != nullptr && ask != nullptr && start() == 0 &&
                      ask(version.data(), static_cast<unsigned>(version.size() - 1)) == 0;
    return told ? version.data() : "";
}

const std::array<LibraryRow, 6>& rows() {
    static const std::array<LibraryRow, 6> table = {{
        {"libcuda", {"libcuda.so.1", "libcuda.so"}, driverVersion},
        {"libnvrtc", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, nvrtcVersion},
        {"libcublasLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, cublasLtVersion},
        {"libcudnn", {"libcudnn.so.9"}, cudnnVersion},
        {"libcupti", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, cuptiVersion},
        {"libnvidia-ml", {"libnvidia-ml.so.1"}, nvmlVersion},
    }};
    return table;
}

} // namespace

Result<std::shared_ptr<SharedLibrary>> SharedLibrary::open(const std::vector<std::string>& names) {
    std::string problem;
    auto tryOpen = [&](const std::string& path) -> std::shared_ptr<SharedLibrary> {
        void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            problem = dlerror();
            return nullptr;
        }
        return std::shared_ptr<SharedLibrary>(new SharedLibrary(handle, path));
    };
    const char* only = std::getenv("FUSELAGE_CUDA_LIBRARIES");
    const bool anywhere = only == nullptr || *only == '\0';
    if (anywhere)
        for (const std::string& name : names)
            if (auto library = tryOpen(name))
                return library;
    for (const std::string& folder : anywhere ? toolkitFolders() : std::vector<std::string>{only})
        for (const std::string& name : names) {
            std::error_code ignored;
            const std::string path = folder + "/" + name;
            if (std::filesystem::exists(path, ignored))
                if (auto library = tryOpen(path))
                    return library;
        }
    return failure("library-missing",
                   fmt::format("`{}` cannot be opened: {}", names.empty() ? "" : names[0],
                               problem.empty() ? fmt::format("not in `{}`", only) : problem),
                   {}, "install the CUDA toolkit or set CUDA_HOME to its folder");
}

SharedLibrary::~SharedLibrary() {
    dlclose(m_handle);
}

void* SharedLibrary::address(const char* name) const {
    return dlsym(m_handle, name);
}

std::vector<std::string> fileNamesOf(std::string_view name) {
    for (const LibraryRow& row : rows())
        if (name == row.name)
            return row.sonames;
    return {};
}

std::vector<LibraryFacts> inspectLibraries() {
    std::vector<LibraryFacts> out;
    for (const LibraryRow& row : rows()) {
        LibraryFacts facts;
        facts.name = row.name;
        auto library = SharedLibrary::open(row.sonames);
        if (library) {
            facts.path = (*library)->path();
            facts.version = row.version(**library);
        } else {
            facts.missing = Reason{"library-missing",
                                   library.error().message,
                                   library.error().fix,
                                   {{"library", row.name}}};
        }
        out.push_back(std::move(facts));
    }
    return out;
}

} // namespace fuselage::gpu
