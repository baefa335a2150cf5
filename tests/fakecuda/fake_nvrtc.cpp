// SPDX-License-Identifier: Apache-2.0
// Stand-in for NVRTC: its machine code is a shared object for the host, made by the C++ compiler
// from the emitted text and the headers of tests/shim. Objects are kept by hash of the text.
#include "core/support/hash.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

enum Code : int { Success = 0, InvalidInput = 3, CompilationFailed = 6 };

struct Program {
    std::string source, object, log;
};

std::string readFile(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The folder of this library; the stand-in driver lies beside it.
std::filesystem::path ownFolder() {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&ownFolder), &info);
    return std::filesystem::path(info.dli_fname).parent_path();
}

std::filesystem::path cacheFolder() {
    const char* named = std::getenv("FAKECUDA_CACHE");
    std::filesystem::path out =
        named != nullptr ? std::filesystem::path(named) : ownFolder() / "objects";
    std::filesystem::create_directories(out);
    return out;
}

/// Names of the __global__ functions.
std::vector<std::string> kernelNames(const std::string& source) {
    static const std::regex form(
        R"(__global__\s+(?:__launch_bounds__\([^)]*\)\s*)?void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\()");
    std::set<std::string> out;
    for (std::sregex_iterator at(source.begin(), source.end(), form), end; at != end; ++at)
        out.insert((*at)[1]);
    return {out.begin(), out.end()};
}

std::string hostText(const std::string& source) {
    std::string out = "#include \"tests/shim/simt.h\"\n#include \"tests/fakecuda/module_glue.h\"\n"
                      "#line 1 \"kernel.cu\"\n" +
                      source + "\n";
    for (const std::string& name : kernelNames(source))
        out += "FAKECUDA_KERNEL(" + name + ")\n";
    return out;
}

int compile(Program& program) {
    static std::atomic<unsigned> counter{0};
    const std::string text = hostText(program.source);
    const std::filesystem::path driver = ownFolder() / "libcuda.so.1";
    const std::string key = fuselage::Hasher()
                                .text(text)
                                .text(FAKECUDA_COMPILER)
                                .text(readFile(FAKECUDA_SOURCES "/tests/shim/simt.h"))
                                .text(readFile(FAKECUDA_SOURCES "/tests/shim/tma.h"))
                                .text(readFile(FAKECUDA_SOURCES "/tests/fakecuda/module_glue.h"))
                                .text(driver.string())
                                .hex();
    const std::filesystem::path kept = cacheFolder() / (key + ".so");
    if (!std::filesystem::exists(kept)) {
        const std::string base = (cacheFolder() / key).string() + "." + std::to_string(getpid()) +
                                 "." + std::to_string(counter++);
        std::ofstream(base + ".cpp") << text;
        // Only paths of the build are in this line.
        const std::string command = std::string(FAKECUDA_COMPILER) +
                                    " -std=c++20 -O1 -fPIC -shared -ffp-contract=off "
                                    "-fno-strict-aliasing -fno-gnu-unique -w -I" +
                                    FAKECUDA_SOURCES + " -o " + base + ".so " + base + ".cpp " +
                                    driver.string() + " > " + base + ".log 2>&1";
        const int ended = std::system(command.c_str());
        program.log = readFile(base + ".log");
        if (ended == 0)
            std::filesystem::rename(base + ".so", kept);
        for (const char* ending : {".cpp", ".log", ".so"})
            std::filesystem::remove(base + ending);
        if (ended != 0)
            return CompilationFailed;
    }
    program.object = readFile(kept);
    program.log = "ptxas info : Used 32 registers, 0 bytes smem\n0 bytes stack frame, 0 bytes "
                  "spill stores\n";
    return Success;
}

} // namespace

extern "C" {

const char* nvrtcGetErrorString(int code) {
    return code == Success             ? "NVRTC_SUCCESS"
           : code == CompilationFailed ? "NVRTC_ERROR_COMPILATION"
                                       : "NVRTC_ERROR_INVALID_INPUT";
}

int nvrtcVersion(int* major, int* minor) {
    *major = 13;
    *minor = 0;
    return Success;
}

int nvrtcGetNumSupportedArchs(int* count) {
    *count = 1;
    return Success;
}

int nvrtcGetSupportedArchs(int* archs) {
    archs[0] = 90;
    return Success;
}

int nvrtcCreateProgram(Program** out, const char* source, const char*, int, const char* const*,
                       const char* const*) {
    *out = new Program{source, {}, {}};
    return Success;
}

int nvrtcDestroyProgram(Program** program) {
    delete *program;
    *program = nullptr;
    return Success;
}

int nvrtcCompileProgram(Program* program, int, const char* const*) {
    return compile(*program);
}

int nvrtcGetCUBINSize(Program* program, size_t* size) {
    *size = program->object.size();
    return Success;
}

int nvrtcGetCUBIN(Program* program, char* out) {
    std::memcpy(out, program->object.data(), program->object.size());
    return Success;
}

int nvrtcGetProgramLogSize(Program* program, size_t* size) {
    *size = program->log.size() + 1;
    return Success;
}

int nvrtcGetProgramLog(Program* program, char* out) {
    std::memcpy(out, program->log.c_str(), program->log.size() + 1);
    return Success;
}
}
