// SPDX-License-Identifier: Apache-2.0
// Finds shared objects by soname, then in the folders where toolkits install. Asks a library for
// its version with the one call that needs neither a device nor a handle.
#include "gpu/runtime/libraries.h"

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
          "/usr/lib64", "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"})
        out.emplace_back(folder);
    return out;
}

struct LibraryRow {
    const char* name;
    std::vector<std::string> sonames; ///< the newest first
    std::string (*version)(const SharedLibrary&);
    /// Numbered like CUDA: a driver does not run the code of one that is newer than itself.
    bool ofToolkit = false;
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
        {"libnvrtc", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, nvrtcVersion, true},
        {"libcublasLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, cublasLtVersion, true},
        {"libcudnn", {"libcudnn.so.9"}, cudnnVersion},
        {"libcupti", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, cuptiVersion, true},
        {"libnvidia-ml", {"libnvidia-ml.so.1"}, nvmlVersion},
    }};
    return table;
}

} // namespace

Result<std::shared_ptr<SharedLibrary>> SharedLibrary::open(const std::vector<std::string>& names) {
    std::string problem;
    auto tryOpen = [&](const std::string& path) -> std::shared_ptr<SharedLibrary> {
        // NVIDIA's libraries leave threads and handlers behind: their code stays until the end.
        void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
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
    if (names.empty())
        return failure("library-missing", "the driver is older than any version that is known", {},
                       "install a newer driver");
    return failure("library-missing",
                   fmt::format("`{}` cannot be opened: {}", names[0],
                               problem.empty() ? fmt::format("not in `{}`", only) : problem),
                   {}, "install the CUDA toolkit or set CUDA_HOME to its folder");
}

SharedLibrary::~SharedLibrary() {
    dlclose(m_handle);
}

void* SharedLibrary::address(const char* name) const {
    return dlsym(m_handle, name);
}

namespace {

const LibraryRow* rowOf(std::string_view name) {
    for (const LibraryRow& row : rows())
        if (name == row.name)
            return &row;
    return nullptr;
}

/// The CUDA that the driver here is for; 0 without a driver.
int cudaOfDriver() {
    int version = 0;
    auto library = SharedLibrary::open(rowOf("libcuda")->sonames);
    auto ask = library ? (*library)->symbol<int (*)(int*)>("cuDriverGetVersion") : nullptr;
    return ask != nullptr && ask(&version) == 0 ? version / 1000 : 0;
}

/// 13 of "libnvrtc.so.13"; 0 where the name tells none.
int numberOf(const std::string& soname) {
    const size_t at = soname.rfind(".so.");
    return at == std::string::npos ? 0 : std::atoi(soname.c_str() + at + 4);
}

} // namespace

std::vector<std::string> fileNamesOf(std::string_view name) {
    const LibraryRow* row = rowOf(name);
    if (row == nullptr)
        return {};
    std::vector<std::string> out = row->sonames;
    const int newest = row->ofToolkit ? cudaOfDriver() : 0;
    if (newest > 0 && newest < numberOf(out.front()))
        std::erase_if(out, [&](const std::string& soname) {
            return numberOf(soname) == 0 || numberOf(soname) > newest;
        });
    return out;
}

std::vector<LibraryFacts> inspectLibraries() {
    std::vector<LibraryFacts> out;
    for (const LibraryRow& row : rows()) {
        LibraryFacts facts;
        facts.name = row.name;
        auto library = SharedLibrary::open(fileNamesOf(row.name));
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
