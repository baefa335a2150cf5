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
    find(call.cublasLtGetVersion, "cublasLtGetVersion");
    find(call.cublasLtGetStatusString, "cublasLtGetStatusString");
    find(call.cublasLtCreate, "cublasLtCreate");
    find(call.cublasLtDestroy, "cublasLtDestroy");
    find(call.cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate");
    find(call.cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy");
    find(call.cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
    find(call.cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
    find(call.cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
    find(call.cublasLtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute");
    find(call.cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
    find(call.cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
    find(call.cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
    find(call.cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
    find(call.cublasLtMatmulAlgoConfigGetAttribute, "cublasLtMatmulAlgoConfigGetAttribute");
    find(call.cublasLtMatmul, "cublasLtMatmul");
    if (!find.absent().empty())
        return failure("library-missing",
                       fmt::format("`{}` lacks `{}`", out->path(), find.absent()), {},
                       "install the CUDA toolkit 12 or 13");
    return std::shared_ptr<const Library>(std::move(out));
}

std::string Library::version() const {
    const size_t version = m_functions.cublasLtGetVersion();
    return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

} // namespace fuselage::gpu::cublaslt
