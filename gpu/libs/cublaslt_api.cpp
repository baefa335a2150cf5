// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/cublaslt_api.h"

#include <fmt/format.h>

namespace fuselage::gpu::cublaslt {

Result<std::shared_ptr<const Library>> Library::open() {
    auto library = SharedLibrary::open(fileNamesOf("libcublasLt"));
    if (!library)
        return failure(library.error());
    auto out = std::make_shared<Library>();
    out->m_library = *library;
    SymbolReader find(**library);
    Functions& call = out->m_functions;
    find(call.getVersion, "cublasLtGetVersion");
    find(call.statusString, "cublasLtGetStatusString");
    find(call.create, "cublasLtCreate");
    find(call.destroy, "cublasLtDestroy");
    find(call.operationCreate, "cublasLtMatmulDescCreate");
    find(call.operationDestroy, "cublasLtMatmulDescDestroy");
    find(call.operationSet, "cublasLtMatmulDescSetAttribute");
    find(call.layoutCreate, "cublasLtMatrixLayoutCreate");
    find(call.layoutDestroy, "cublasLtMatrixLayoutDestroy");
    find(call.layoutSet, "cublasLtMatrixLayoutSetAttribute");
    find(call.preferenceCreate, "cublasLtMatmulPreferenceCreate");
    find(call.preferenceDestroy, "cublasLtMatmulPreferenceDestroy");
    find(call.preferenceSet, "cublasLtMatmulPreferenceSetAttribute");
    find(call.heuristic, "cublasLtMatmulAlgoGetHeuristic");
    find(call.algorithmGet, "cublasLtMatmulAlgoConfigGetAttribute");
    find(call.matmul, "cublasLtMatmul");
    if (!find.absent().empty())
        return failure("library-missing",
                       fmt::format("`{}` lacks `{}`", out->path(), find.absent()), {},
                       "install the CUDA toolkit 12 or 13");
    return std::shared_ptr<const Library>(std::move(out));
}

std::string Library::version() const {
    const size_t version = m_functions.getVersion();
    return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

} // namespace fuselage::gpu::cublaslt
