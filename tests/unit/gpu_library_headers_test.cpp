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

CUDNN(cudnnGetVersion, cudnnGetVersion);
CUDNN(cudnnGetErrorString, cudnnGetErrorString);
CUDNN(cudnnGetLastErrorString, cudnnGetLastErrorString);
CUDNN(cudnnCreate, cudnnCreate);
CUDNN(cudnnDestroy, cudnnDestroy);
CUDNN(cudnnSetStream, cudnnSetStream);
CUDNN(cudnnBackendCreateDescriptor, cudnnBackendCreateDescriptor);
CUDNN(cudnnBackendDestroyDescriptor, cudnnBackendDestroyDescriptor);
CUDNN(cudnnBackendFinalize, cudnnBackendFinalize);
CUDNN(cudnnBackendSetAttribute, cudnnBackendSetAttribute);
CUDNN(cudnnBackendGetAttribute, cudnnBackendGetAttribute);
CUDNN(cudnnBackendExecute, cudnnBackendExecute);

CUBLASLT(cublasLtGetVersion, cublasLtGetVersion);
CUBLASLT(cublasLtGetStatusString, cublasLtGetStatusString);
CUBLASLT(cublasLtCreate, cublasLtCreate);
CUBLASLT(cublasLtDestroy, cublasLtDestroy);
CUBLASLT(cublasLtMatmulDescCreate, cublasLtMatmulDescCreate);
CUBLASLT(cublasLtMatmulDescDestroy, cublasLtMatmulDescDestroy);
CUBLASLT(cublasLtMatmulDescSetAttribute, cublasLtMatmulDescSetAttribute);
CUBLASLT(cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutCreate);
CUBLASLT(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayoutDestroy);
CUBLASLT(cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutSetAttribute);
CUBLASLT(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceCreate);
CUBLASLT(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreferenceDestroy);
CUBLASLT(cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreferenceSetAttribute);
CUBLASLT(cublasLtMatmulAlgoGetHeuristic, cublasLtMatmulAlgoGetHeuristic);
CUBLASLT(cublasLtMatmulAlgoConfigGetAttribute, cublasLtMatmulAlgoConfigGetAttribute);
CUBLASLT(cublasLtMatmul, cublasLtMatmul);

static_assert(sizeof(cublaslt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cublaslt::HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));

TEST(LibraryHeaders, wereComparedByTheCompiler) {
    SUCCEED();
}

} // namespace
