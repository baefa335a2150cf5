// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/backends.h"

#include "app/pipeline/compiled.h"
#if FUSELAGE_HAS_CUDA
#include "gpu/kernels/variant_table.h"
#include "gpu/tune/early_launch.h"
#endif

namespace fuselage::app {

std::vector<BackendState> inspectBackends() {
    std::vector<BackendState> out;
    for (BackendKind kind : {BackendKind::Cuda, BackendKind::Cpu, BackendKind::Reference}) {
        CompileOptions options;
        options.backend = kind;
        auto backend = makeBackend(options);
        out.push_back(
            {nameOf(kind), bool(backend),
             backend ? (*backend)->description() : "not usable: " + backend.error().text()});
    }
    return out;
}

std::vector<std::string> tacticFamilies() {
    std::vector<std::string> out;
#if FUSELAGE_HAS_CUDA
    for (const gpu::VariantRow& row : gpu::kernelVariants())
        out.push_back(row.name);
    out.insert(out.end(), {"cublaslt", "cudnn", gpu::earlyLaunch});
#endif
    return out;
}

std::string usedBackend(const std::vector<BackendState>& backends) {
    for (const BackendState& backend : backends)
        if (backend.usable)
            return backend.name;
    return "cpu";
}

} // namespace fuselage::app
