// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/halo_mutants.h"

#include "gpu/kernels/conv_halo.h"

namespace fuselage::gpu_suite {

namespace {

/// How often `from` stood in the text.
int replaceAll(std::string& text, const std::string& from, const std::string& to) {
    int count = 0;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
        text.replace(at, from.size(), to);
        at += to.size();
        ++count;
    }
    return count;
}

constexpr const char* race = "a race in shared memory";
constexpr const char* differs = ", wanted ";

} // namespace

const std::vector<HaloMutant>& haloMutants() {
    static const std::vector<HaloMutant> mutants = {
        {"no_barrier", "                __syncthreads();\n", "", race},
        {"no_wait_for_copies", "                waitCopies<1>();\n", "", race},
        {"a_copy_too_late", "                waitCopies<1>();\n",
         "                waitCopies<2>();\n", race},
        {"no_fence", "                fenceForProducts();\n", "", "without a fence.proxy.async"},
        {"not_opened", "                    openProducts();\n", "", "without wgmma.fence"},
        {"stage_under_products", "                waitProducts<1>();\n                waitCopies",
         "                waitCopies", race},
        {"fragments_under_products", "                    waitProducts<1>();\n", "",
         "registers of a product that changed", "halo_weights_stay"},
        {"sums_under_products", "        }\n        waitProducts<0>();\n",
         "        }\n        waitProducts<1>();\n", differs, "halo_weights_stay"},
        {"slices_not_ended", "            waitProducts<0>();\n", "",
         "registers of a product that changed"},
        {"no_swizzle", "tileByte<8>(line, unit)", "(line * 8 + unit) * 16", differs},
        {"one_picture", "pictures + (picture ^ 1) *", "pictures + picture *", race},
        {"a_line_too_few", "(last - first + 3u)", "(last - first + 2u)", differs},
        {"a_line_too_high", "const int y = at % 14 - 1;", "const int y = at % 14 - 2;", differs},
        {"a_column_aside", "+ column - 1, c =", "+ column - 0, c =", differs},
        {"beside_the_picture", "inside = within && static_cast<unsigned>(x) < 8u",
         "inside = within && static_cast<unsigned>(x + 8) < 24u", differs},
        {"above_the_picture", "within = static_cast<unsigned>(y) < 12u",
         "within = static_cast<unsigned>(y + 1) < 13u", differs},
        {"halves_exchanged", "own / 16 * 16", "(own / 16 ^ 1) * 16", differs},
        {"taps_in_one_row", "a[r + tap]", "a[r]", differs},
        {"columns_in_one", "step / 1 * 48", "step / 1 * 0", differs},
        {"stages_not_in_turn", "next = next + 1 == 4 ? 0 : next + 1;",
         "next = next + 1 == 3 ? 0 : next + 1;", race},
        {"results_of_others", "const int c = ", "const int c = 8 + ", differs},
    };
    return mutants;
}

gpu::KernelSet mutated(const gpu::KernelSet& set, const HaloMutant& mutant) {
    gpu::KernelSet out = set;
    for (gpu::KernelText& kernel : out.kernels) {
        if (replaceAll(kernel.source, mutant.from, mutant.to) == 0)
            return {};
        const std::string name = kernel.name + "_" + mutant.name;
        replaceAll(kernel.source, kernel.name, name);
        kernel.name = name;
    }
    return out;
}

gpu::KernelSet haloSetOf(const gpu::KernelRequest& request) {
    gpu::EmitResult result = gpu::emitConvHalo(request);
    if (auto* set = std::get_if<gpu::KernelSet>(&result))
        return std::move(*set);
    return {};
}

} // namespace fuselage::gpu_suite
