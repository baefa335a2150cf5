// SPDX-License-Identifier: Apache-2.0
// The functions that gpu/libs declares of cuDNN and cuBLASLt are those of NVIDIA's headers, by
// number and size of their parameters and by what they give; and what they are handed in memory has
// the headers' size. Checked when this file is compiled, which is only where the headers are.
#include "gpu/libs/cublaslt_api.h"
#include "gpu/libs/cudnn_api.h"
#include "tests/unit/gpu_alike.h"

#include <gtest/gtest.h>

#include <cublasLt.h>
#include <cudnn_backend.h>

using namespace fuselage::gpu;

namespace {

#define CUDNN(member, function)                                                                    \
    static_assert(Alike<decltype(cudnn::Functions::member), decltype(&function)>::value, #function)
#define CUBLASLT(member, function)                                                                 \
    static_assert(Alike<decltype(cublaslt::Functions::member), decltype(&function)>::value,        \
                  #function)

CUDNN(getVersion, cudnnGetVersion);
CUDNN(getErrorString, cudnnGetErrorString);
CUDNN(getLastErrorString, cudnnGetLastErrorString);
CUDNN(create, cudnnCreate);
CUDNN(destroy, cudnnDestroy);
CUDNN(setStream, cudnnSetStream);
CUDNN(createDescriptor, cudnnBackendCreateDescriptor);
CUDNN(destroyDescriptor, cudnnBackendDestroyDescriptor);
CUDNN(finalize, cudnnBackendFinalize);
CUDNN(setAttribute, cudnnBackendSetAttribute);
CUDNN(getAttribute, cudnnBackendGetAttribute);
CUDNN(execute, cudnnBackendExecute);

CUBLASLT(getVersion, cublasLtGetVersion);
CUBLASLT(statusString, cublasLtGetStatusString);
CUBLASLT(create, cublasLtCreate);
CUBLASLT(destroy, cublasLtDestroy);
CUBLASLT(operationCreate, cublasLtMatmulDescCreate);
CUBLASLT(operationDestroy, cublasLtMatmulDescDestroy);
CUBLASLT(operationSet, cublasLtMatmulDescSetAttribute);
CUBLASLT(layoutCreate, cublasLtMatrixLayoutCreate);
CUBLASLT(layoutDestroy, cublasLtMatrixLayoutDestroy);
CUBLASLT(layoutSet, cublasLtMatrixLayoutSetAttribute);
CUBLASLT(preferenceCreate, cublasLtMatmulPreferenceCreate);
CUBLASLT(preferenceDestroy, cublasLtMatmulPreferenceDestroy);
CUBLASLT(preferenceSet, cublasLtMatmulPreferenceSetAttribute);
CUBLASLT(heuristic, cublasLtMatmulAlgoGetHeuristic);
CUBLASLT(algorithmGet, cublasLtMatmulAlgoConfigGetAttribute);
CUBLASLT(matmul, cublasLtMatmul);

static_assert(sizeof(cublaslt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cublaslt::HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));

TEST(LibraryHeaders, wereComparedByTheCompiler) {
    SUCCEED();
}

} // namespace
