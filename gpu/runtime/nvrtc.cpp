// SPDX-License-Identifier: Apache-2.0
// NVRTC through the few C functions that are needed, declared here: no toolkit header. What a
// kernel uses is read from the assembler's report in the log.
#include "gpu/runtime/nvrtc.h"

#include <fmt/format.h>

#include <regex>

namespace fuselage::gpu {

namespace {

using Program = struct ProgramOfNvrtc*;
using Code = int; // 0: success

struct Functions {
    const char* (*nvrtcGetErrorString)(Code);
    Code (*nvrtcVersion)(int*, int*);
    Code (*nvrtcGetNumSupportedArchs)(int*);
    Code (*nvrtcGetSupportedArchs)(int*);
    Code (*nvrtcCreateProgram)(Program*, const char*, const char*, int, const char* const*,
                               const char* const*);
    Code (*nvrtcDestroyProgram)(Program*);
    Code (*nvrtcCompileProgram)(Program, int, const char* const*);
    Code (*nvrtcGetCUBINSize)(Program, size_t*);
    Code (*nvrtcGetCUBIN)(Program, char*);
    Code (*nvrtcGetProgramLogSize)(Program, size_t*);
    Code (*nvrtcGetProgramLog)(Program, char*);

    /// False when the library lacks one of them.
    bool load(const SharedLibrary& from) {
        SymbolReader find(from);
        find(nvrtcGetErrorString, "nvrtcGetErrorString");
        find(nvrtcVersion, "nvrtcVersion");
        find(nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs");
        find(nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs");
        find(nvrtcCreateProgram, "nvrtcCreateProgram");
        find(nvrtcDestroyProgram, "nvrtcDestroyProgram");
        find(nvrtcCompileProgram, "nvrtcCompileProgram");
        find(nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
        find(nvrtcGetCUBIN, "nvrtcGetCUBIN");
        find(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
        find(nvrtcGetProgramLog, "nvrtcGetProgramLog");
        return find.absent().empty();
    }
};

/// Sum of the numbers before "what" in the report.
uint32_t reported(const std::string& log, const char* pattern) {
    uint32_t out = 0;
    const std::regex expression(pattern);
    for (std::sregex_iterator at(log.begin(), log.end(), expression), end; at != end; ++at)
        out = std::max(out, static_cast<uint32_t>(std::stoul((*at)[1])));
    return out;
}

class LoadedNvrtc final : public Nvrtc {
public:
    LoadedNvrtc(std::shared_ptr<SharedLibrary> library, const Functions& functions)
        : m_library(std::move(library)), m_functions(functions) {}

    std::string version() const override {
        int major = 0, minor = 0;
        return m_functions.nvrtcVersion(&major, &minor) == 0 ? fmt::format("{}.{}", major, minor)
                                                             : "";
    }

    std::vector<std::string> architectures() const override {
        int count = 0;
        if (m_functions.nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0)
            return {};
        std::vector<int> numbers(static_cast<size_t>(count));
        if (m_functions.nvrtcGetSupportedArchs(numbers.data()) != 0)
            return {};
        std::vector<std::string> out;
        for (int number : numbers)
            out.push_back(fmt::format("sm_{}", number));
        return out;
    }

    Result<CompiledKernel> compile(const KernelText& kernel,
                                   const CompileOptions& options) override;

private:
    Result<CompiledKernel> compileOnce(const KernelText& kernel,
                                       const CompileOptions& options) const;

    std::string logOf(Program program) const {
        size_t size = 0;
        if (m_functions.nvrtcGetProgramLogSize(program, &size) != 0 || size <= 1)
            return {};
        std::string log(size, '\0');
        if (m_functions.nvrtcGetProgramLog(program, log.data()) != 0)
            return {};
        log.resize(size - 1);
        return log;
    }

    std::shared_ptr<SharedLibrary> m_library;
    Functions m_functions;
};

/// The same text for another number of blocks on a multiprocessor.
KernelText withResidentBlocks(const KernelText& kernel, uint32_t blocks) {
    KernelText out = kernel;
    out.residentBlocks = blocks;
    const std::string before = launchBounds(kernel);
    if (const size_t at = out.source.rfind(before); at != std::string::npos)
        out.source.replace(at, before.size(), launchBounds(out));
    return out;
}

Result<CompiledKernel> LoadedNvrtc::compile(const KernelText& kernel,
                                            const CompileOptions& options) {
    auto best = compileOnce(kernel, options);
    for (uint32_t blocks = kernel.residentBlocks; best && best->localBytes > 0 && blocks > 1;) {
        auto next = compileOnce(withResidentBlocks(kernel, --blocks), options);
        if (!next || next->localBytes >= best->localBytes)
            break; // what lies in local memory does so for another reason
        best = std::move(next);
    }
    return best;
}

Result<CompiledKernel> LoadedNvrtc::compileOnce(const KernelText& kernel,
                                                const CompileOptions& options) const {
    Program program = nullptr;
    const std::string file = kernel.name + ".cu";
    if (Code code = m_functions.nvrtcCreateProgram(&program, kernel.source.c_str(), file.c_str(), 0,
                                                   nullptr, nullptr);
        code != 0)
        return failure("nvrtc.compile", m_functions.nvrtcGetErrorString(code), kernel.name);
    struct Owner {
        const Functions& functions;
        Program program;

        ~Owner() { functions.nvrtcDestroyProgram(&program); }
    } owner{m_functions, program};

    std::vector<std::string> flags = {"--gpu-architecture=" + archOf(kernel, options.arch),
                                      "--std=c++17", "--ptxas-options=-v",
                                      options.contraction ? "--fmad=true" : "--fmad=false"};
    if (options.maxRegisters != 0)
        flags.push_back(fmt::format("--maxrregcount={}", options.maxRegisters));
    std::vector<const char*> pointers;
    for (const std::string& flag : flags)
        pointers.push_back(flag.c_str());
    const Code code = m_functions.nvrtcCompileProgram(program, static_cast<int>(pointers.size()),
                                                      pointers.data());
    CompiledKernel out;
    out.log = logOf(program);
    if (code != 0)
        return failure("nvrtc.compile",
                       fmt::format("{} for {}:\n{}", m_functions.nvrtcGetErrorString(code),
                                   options.arch, out.log),
                       kernel.name);
    size_t size = 0;
    if (m_functions.nvrtcGetCUBINSize(program, &size) != 0 || size == 0)
        return failure("nvrtc.compile", "no machine code was made for " + options.arch, kernel.name,
                       "name a real architecture, as sm_90");
    out.cubin.resize(size);
    if (m_functions.nvrtcGetCUBIN(program, out.cubin.data()) != 0)
        return failure("nvrtc.compile", "the machine code cannot be read", kernel.name);
    out.registers = reported(out.log, "Used ([0-9]+) registers");
    out.sharedBytes = reported(out.log, "([0-9]+) bytes smem");
    out.localBytes = std::max(reported(out.log, "([0-9]+) bytes stack frame"),
                              reported(out.log, "([0-9]+) bytes spill stores"));
    return out;
}

} // namespace

Result<std::shared_ptr<Nvrtc>> Nvrtc::open() {
    auto library = SharedLibrary::open(fileNamesOf("libnvrtc"));
    if (!library)
        return failure(library.error());
    Functions functions{};
    if (!functions.load(**library))
        return failure(
            "library-missing",
            fmt::format("`{}` lacks functions of NVRTC 12 and newer", (*library)->path()), {},
            "install CUDA 12 or newer");
    return std::shared_ptr<Nvrtc>(std::make_shared<LoadedNvrtc>(std::move(*library), functions));
}

} // namespace fuselage::gpu
