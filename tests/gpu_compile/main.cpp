// SPDX-License-Identifier: Apache-2.0
// The compile gate: every kernel of the suite through NVRTC, with a budget of registers a variant
// and no spills. Needs no GPU. Exit status 77: NVRTC is not here. By default each kernel for the
// oldest architecture, for sm_90 and for one of the others in turn; --all asks for all seven, names
// of architectures for those.
#include "gpu/emit/device_text.h"
#include "gpu/kernels/variant_table.h"
#include "gpu/runtime/early_code.h"
#include "gpu/runtime/nvrtc.h"
#include "gpu/runtime/output_check.h"
#include "tests/gpu_compile/machine_code.h"
#include "tests/shim/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>

using namespace fuselage;

namespace {

constexpr int skipped = 77;
constexpr size_t always = 2; ///< architectures that every kernel is compiled for

/// Most registers a thread that a variant's kernels of the suite may take.
const std::map<std::string, uint32_t>& budgets() {
    // clang-format off
    static const std::map<std::string, uint32_t> table = {
        {"attention_plain", 48},
        {"attention_split", 128},
        {"attention_tensor", 192},
        {"attention_tiled", 128},
        {"attention_wgmma", 128},
        {"blocked_128x128", 168}, // bytes with zero points in floats: one block a multiprocessor
        {"blocked_128x64", 168},
        {"blocked_128x64_split", 168},
        {"blocked_16x64", 128},
        {"blocked_16x64_split", 128},
        {"blocked_256x128", 255},
        {"blocked_32x64", 128},
        {"blocked_32x64_split", 128},
        {"blocked_64x128", 168},
        {"blocked_64x32", 168},
        {"blocked_64x64", 168},
        {"blocked_64x64_split", 168},
        {"blocked_wgmma_128x128", 128},
        {"blocked_wgmma_128x256", 255}, // one block a multiprocessor, whatever it takes
        {"blocked_wgmma_128x64", 160},
        {"blocked_wgmma_128x64_split", 152},
        {"tma_128x128", 168},
        {"tma_128x128_pair", 168},
        {"tma_128x64", 168},
        {"tma_128x64_pair", 168},
        {"tma_192x128", 168},
        {"tma_192x128_pair", 168},
        {"tma_64x128", 168},
        {"tma_64x128_pair", 168},
        {"tma_64x256", 168},
        {"tma_64x256_pair", 168},
        {"tma_im2col_128x128", 168},
        {"tma_im2col_128x128_pair", 168},
        {"tma_im2col_128x64", 168},
        {"tma_im2col_128x64_pair", 168},
        {"tma_im2col_192x128", 168},
        {"tma_im2col_192x128_pair", 168},
        {"chain_wgmma", 248}, // as below, with two warpgroups
        {"chain_tensor", 248}, // one block a multiprocessor: rows, sums and their fragments
        {"comparison", 136},
        {"contract_plain", 128},
        {"conv_direct", 128},
        {"conv_halo", 224}, // units of four results, 64 sums wide, two warpgroups
        {"copy_plain", 24},
        {"copy_transpose", 32},
        {"copy_vector", 40},
        {"cumulative", 64},
        {"depthwise_tensor", 84},
        {"depthwise_tiled", 128},
        {"expanded_128x128", 128},
        {"expanded_256x128", 255},
        {"expanded_tma_128x128", 168},
        {"expanded_tma_192x128", 168},
        {"float_128x128", 128},
        {"float_64x64", 128},
        {"float_64x64_split", 128},
        {"float8_linear", 40},
        {"gather", 32},
        {"gemv_nibbles", 128},
        {"gemv_row", 128}, // two blocks of 256 threads
        {"gemv_split", 128},
        {"group", 40},
        {"integer_128x128", 168}, // both sides' zero points: one block a multiprocessor
        {"integer_128x64", 168},
        {"integer_128x64_split", 168},
        {"integer_16x64", 128},
        {"integer_16x64_split", 128},
        {"integer_32x64", 128},
        {"integer_32x64_split", 128},
        {"integer_64x64", 168},
        {"integer_64x64_split", 168},
        {"pointwise_plain", 40},
        {"pointwise_vector", 48},
        {"recurrence", 168},
        {"recurrent", 64},
        {"resize_table", 64},
        {"row_block", 64},
        {"row_outer", 40},
        {"row_plain", 48},
        {"row_two_pass", 80},
        {"row_warp", 80},
        {"tensor_128x128", 128},
        {"tensor_128x64", 168},
        {"tensor_128x64_split", 168},
        {"tensor_16x64", 128},
        {"tensor_16x64_split", 128},
        {"tensor_256x128", 255},
        {"tensor_32x64", 128},
        {"tensor_32x64_split", 128},
        {"tensor_64x128", 168},
        {"tensor_64x32", 168},
        {"tensor_64x64", 168},
        {"tensor_64x64_split", 168},
        {"scatter", 48},
        {"stem_pool", 168},
        {"topk", 96},
        {"wgmma_128x128", 128},
        {"wgmma_128x128_split", 128},
        {"wgmma_128x256", 240},
        {"wgmma_128x64", 160},
        {"wgmma_128x64_split", 152},
        {"window_plain", 32},
        {"window_row", 56},
    };
    // clang-format on
    return table;
}

struct Figures {
    uint32_t registers = 0, local = 0, kernels = 0;
    std::string worst;
};

/// What a kernel that may be launched early (sm_90), one of 8-bit integers, or one of tensor maps,
/// is made for must be in its machine code; empty: it is.
std::string missingIn(const std::string& variant, const gpu::KernelText& kernel,
                      const gpu::CompiledKernel& compiled, bool early) {
    for (const char* loss : {"serialized", "setmaxnreg"})
        if (compiled.log.find(loss) != std::string::npos)
            return compiled.log; // the assembler's note that it did not do as the text says
    if (early && kernel.waits)
        if (std::string why = gpu::whyNotEarly(compiled.cubin); !why.empty())
            return why;
    const machine_code::MatrixInstructions found = machine_code::countMatrix(compiled.cubin);
    if (variant.starts_with("integer_"))
        return found.integers == 0 ? "no products of 8-bit integers" : "";
    const bool groups = variant.starts_with("wgmma_") || variant.starts_with("tma_") ||
                        variant.starts_with("blocked_wgmma_");
    const bool integers = groups && kernel.source.find(" int sums[") != std::string::npos;
    if (groups && (integers ? found.integerGroups : found.products) == 0)
        return "no products of warpgroups";
    if (kernel.maps.empty())
        return {};
    const auto pixelMaps = std::count_if(kernel.maps.begin(), kernel.maps.end(),
                                         [](const auto& map) { return map.pixels.has_value(); });
    const bool operands = kernel.maps.size() == 2; // no more, which several places ask for
    return found.products + found.integerGroups == 0 ? "no products of warpgroups"
           : found.boxCopies < kernel.maps.size() ||
                   (operands && found.boxCopies != kernel.maps.size())
               ? "a copy a map is not there"
           : found.pixelCopies != pixelMaps ? "a copy is not of its map's mode"
           : found.signals < 6              ? "waits for barriers or arrivals are missing"
           : found.registerMoves != 2       ? "registers do not move"
           : found.local != 0               ? "local memory"
                                            : "";
}

/// Texts that must not pass as ones that may be launched early do not, and one that may does.
int checkEarly(gpu::Nvrtc& nvrtc) {
    const struct {
        const char* body;
        bool may;
    } texts[] = {
        {"waitForKernelsBefore(); to[threadIdx.x] = from[threadIdx.x];", true},
        {"to[threadIdx.x] = from[threadIdx.x];", false},
        {"const float x = *static_cast<const volatile float*>(from); waitForKernelsBefore(); *to = "
         "x;",
         false},
        {"*static_cast<volatile float*>(to) = 1; waitForKernelsBefore(); *to = *from;", false},
        {"if (threadIdx.x < 7) waitForKernelsBefore(); to[threadIdx.x] = from[threadIdx.x];",
         false},
    };
    int failures = 0;
    for (const auto& text : texts) {
        gpu::KernelText kernel;
        kernel.name = "early";
        kernel.source = std::string(gpu::deviceText("launch")) +
                        "\nextern \"C\" __global__ void early(const float* __restrict__ from, "
                        "float* __restrict__ to) {\n" +
                        text.body + "\n}\n";
        gpu::CompileOptions options;
        options.arch = "sm_90";
        auto compiled = nvrtc.compile(kernel, options);
        if (compiled && gpu::whyNotEarly(compiled->cubin).empty() == text.may)
            continue;
        std::printf("FAILED: launched early: %s\n",
                    compiled ? text.body : compiled.error().text().c_str());
        ++failures;
    }
    return failures;
}

struct Gate {
    gpu::Nvrtc& nvrtc;
    std::map<std::string, std::map<std::string, Figures>> figures; ///< variant, architecture
    int failures = 0;

    void compile(const gpu_suite::Case& source, const gpu::KernelSet& set,
                 const std::string& arch) {
        for (const gpu::KernelText& kernel : set.kernels) {
            if (kernel.ownArch && arch != "sm_90")
                continue;
            gpu::CompileOptions options;
            options.arch = arch;
            options.contraction = !source.strict;
            auto compiled = nvrtc.compile(kernel, options);
            if (!compiled) {
                std::printf("FAILED case %s: %s\n", source.name.c_str(),
                            compiled.error().text().c_str());
                ++failures;
                continue;
            }
            if (const std::string missing =
                    missingIn(set.variant, kernel, *compiled, gpu::capabilityOf(arch) >= 90);
                !missing.empty()) {
                std::printf("FAILED case %s, %s: %s\n", source.name.c_str(), set.variant.c_str(),
                            missing.c_str());
                ++failures;
            }
            Figures& figures = this->figures[set.variant][arch];
            ++figures.kernels;
            if (compiled->registers >= figures.registers)
                figures.worst = source.name;
            figures.registers = std::max(figures.registers, compiled->registers);
            figures.local = std::max(figures.local, compiled->localBytes);
            auto budget = budgets().find(set.variant);
            if (budget == budgets().end() || compiled->registers > budget->second ||
                compiled->registers == 0 || compiled->localBytes != 0) {
                std::printf("FAILED case %s, %s, %s: %u registers, %u bytes of local memory; the "
                            "budget is %u and none\n",
                            source.name.c_str(), set.variant.c_str(), arch.c_str(),
                            compiled->registers, compiled->localBytes,
                            budget == budgets().end() ? 0 : budget->second);
                ++failures;
            }
        }
    }
};

} // namespace

int main(int argc, char** argv) {
    auto nvrtc = gpu::Nvrtc::open();
    if (!nvrtc) {
        std::printf("skipped: %s\n", nvrtc.error().text().c_str());
        return skipped;
    }
    std::vector<std::string> archs = {"sm_75", "sm_90",  "sm_80", "sm_86",
                                      "sm_89", "sm_100", "sm_120"};
    const bool inTurn = argc == 1;
    if (argc > 1 && std::string_view(argv[1]) != "--all")
        archs.assign(argv + 1, argv + argc);
    const std::vector<std::string> known = (*nvrtc)->architectures();
    std::erase_if(archs, [&](const std::string& arch) {
        const bool unknown = std::find(known.begin(), known.end(), arch) == known.end();
        if (unknown)
            std::printf("skipped: NVRTC %s does not know %s\n", (*nvrtc)->version().c_str(),
                        arch.c_str());
        return unknown;
    });
    if (archs.size() < (inTurn ? always + 1 : 1))
        return skipped;

    Gate gate{**nvrtc, {}, checkEarly(**nvrtc)};
    size_t turn = 0;
    for (const gpu_suite::Case& source : gpu_suite::cases()) {
        gpu_suite::Prepared prepared = gpu_suite::prepare(source);
        if (!prepared.program) {
            ++gate.failures;
            continue;
        }
        size_t sets = 0;
        for (size_t a = 0; a < archs.size(); ++a) {
            if (gpu::capabilityOf(archs[a]) < source.capability)
                continue; // nobody is offered there what is emitted for a later device
            // As a device of that architecture is offered it: with instructions that others lack.
            prepared.request.capability =
                source.capability != 0 ? source.capability : gpu::capabilityOf(archs[a]);
            const std::vector<gpu::KernelSet> accepted = gpu::emitAll(prepared.request).accepted;
            for (size_t i = 0; i < accepted.size(); ++i)
                if (!inTurn || a < always || a == always + (turn + i) % (archs.size() - always))
                    gate.compile(source, accepted[i], archs[a]);
            sets = std::max(sets, accepted.size());
        }
        turn += sets;
    }
    for (DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64,
                        DType::Int8, DType::Int32, DType::Int64, DType::Bool}) {
        gpu_suite::Case named;
        named.name = nameOf(dtype);
        gpu::KernelSet set;
        set.variant = "comparison";
        set.kernels.push_back(gpu::comparisonText(dtype));
        for (size_t a = 0; a < std::min(archs.size(), inTurn ? always : archs.size()); ++a)
            gate.compile(named, set, archs[a]);
    }
    std::printf("NVRTC %s; most registers a thread (bytes of local memory), and the case\n",
                (*nvrtc)->version().c_str());
    for (const auto& [variant, perArch] : gate.figures)
        for (const auto& [arch, figures] : perArch)
            std::printf("%-18s %-7s %3u kernels  %3u (%u)  %s\n", variant.c_str(), arch.c_str(),
                        figures.kernels, figures.registers, figures.local, figures.worst.c_str());
    for (const gpu::VariantRow& row : gpu::kernelVariants())
        if (!gate.figures.contains(row.name)) {
            std::printf("FAILED no case of the suite reaches variant %s\n", row.name.c_str());
            ++gate.failures;
        }
    return gate.failures == 0 ? 0 : 1;
}
