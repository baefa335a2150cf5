// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/mutants.h"

#include "gpu/kernels/variant_table.h"

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

} // namespace

std::vector<Mutant> allMutants() {
    std::vector<Mutant> out = blockedMutants();
    for (const auto* more : {&chainMutants(), &haloMutants(), &integerMutants(), &landedMutants(),
                             &pairMutants(), &pixelMutants()})
        out.insert(out.end(), more->begin(), more->end());
    return out;
}

gpu::KernelSet mutated(const gpu::KernelRequest& request, const Mutant& mutant) {
    for (const gpu::VariantRow& row : gpu::kernelVariants()) {
        if (row.name != mutant.variant)
            continue;
        gpu::EmitResult result = row.emit(request);
        auto* set = std::get_if<gpu::KernelSet>(&result);
        for (size_t i = 0; set != nullptr && i < set->kernels.size(); ++i) {
            gpu::KernelText& kernel = set->kernels[i];
            if (replaceAll(kernel.source, mutant.from, mutant.to) == 0)
                return {};
            const std::string name = kernel.name + "_" + mutant.name;
            replaceAll(kernel.source, kernel.name, name);
            kernel.name = name;
        }
        return set != nullptr ? std::move(*set) : gpu::KernelSet{};
    }
    return {};
}

} // namespace fuselage::gpu_suite
