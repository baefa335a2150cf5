// SPDX-License-Identifier: Apache-2.0
// cuBLASLt through the few functions that are used, declared here with the values that NVIDIA
// documents: no toolkit header is needed. tests/unit/gpu_headers_test.cpp holds each value to the
// header where there is one.
#pragma once

#include "core/support/result.h"
#include "gpu/runtime/libraries.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fuselage::gpu::cublaslt {

using Status = int; ///< cublasStatus_t; 0: success
using Handle = struct HandleOfCublasLt*;
using OperationDescriptor = struct OperationOfCublasLt*;
using LayoutDescriptor = struct LayoutOfCublasLt*;
using PreferenceDescriptor = struct PreferenceOfCublasLt*;

/// cudaDataType
enum class DataType : int {
    CUDA_R_32F = 0,
    CUDA_R_16F = 2,
    CUDA_R_8I = 3,
    CUDA_R_32I = 10,
    CUDA_R_16BF = 14
};

/// cublasComputeType_t
enum class Compute : int {
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};

/// cublasOperation_t
enum class Transpose : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };

/// cublasLtMatmulDescAttributes_t
enum class OperationAttribute : int {
    CUBLASLT_MATMUL_DESC_TRANSA = 3,
    CUBLASLT_MATMUL_DESC_TRANSB = 4,
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
    CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE = 10,
    CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
};

/// cublasLtMatrixLayoutAttribute_t
enum class LayoutAttribute : int {
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6
};

/// cublasLtMatmulPreferenceAttributes_t
enum class PreferenceAttribute : int {
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};

/// cublasLtReductionScheme_t: how the parts of a split sum meet.
enum class Reduction : uint32_t {
    CUBLASLT_REDUCTION_SCHEME_NONE = 0,
    CUBLASLT_REDUCTION_SCHEME_INPLACE = 1,
    CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
    CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4
};

/// cublasLtEpilogue_t, bits
enum class Epilogue : uint32_t {
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_RELU = 2,
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_GELU = 32
};

/// cublasLtMatmulAlgoConfigAttributes_t: the fields that name an algorithm.
enum class AlgorithmField : int {
    CUBLASLT_ALGO_CONFIG_ID = 0,
    CUBLASLT_ALGO_CONFIG_TILE_ID = 1,
    CUBLASLT_ALGO_CONFIG_SPLITK_NUM = 2,
    CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME = 3,
    CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING = 4,
    CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION = 5,
    CUBLASLT_ALGO_CONFIG_STAGES_ID = 6,
    CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID = 7,
    CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID = 8,
};

/// cublasLtMatmulAlgo_t
struct Algorithm {
    uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t
struct HeuristicResult {
    Algorithm algorithm;
    size_t workspaceBytes;
    Status state;
    float waves;
    int reserved[4];
};

struct Functions {
    size_t (*cublasLtGetVersion)();
    const char* (*cublasLtGetStatusString)(Status);
    Status (*cublasLtCreate)(Handle*);
    Status (*cublasLtDestroy)(Handle);
    Status (*cublasLtMatmulDescCreate)(OperationDescriptor*, int computeType, int scaleType);
    Status (*cublasLtMatmulDescDestroy)(OperationDescriptor);
    Status (*cublasLtMatmulDescSetAttribute)(OperationDescriptor, int, const void*, size_t);
    Status (*cublasLtMatrixLayoutCreate)(LayoutDescriptor*, int type, uint64_t rows, uint64_t cols,
                                         int64_t leading);
    Status (*cublasLtMatrixLayoutDestroy)(LayoutDescriptor);
    Status (*cublasLtMatrixLayoutSetAttribute)(LayoutDescriptor, int, const void*, size_t);
    Status (*cublasLtMatmulPreferenceCreate)(PreferenceDescriptor*);
    Status (*cublasLtMatmulPreferenceDestroy)(PreferenceDescriptor);
    Status (*cublasLtMatmulPreferenceSetAttribute)(PreferenceDescriptor, int, const void*, size_t);
    Status (*cublasLtMatmulAlgoGetHeuristic)(Handle, OperationDescriptor, LayoutDescriptor,
                                             LayoutDescriptor, LayoutDescriptor, LayoutDescriptor,
                                             PreferenceDescriptor, int, HeuristicResult*, int*);
    Status (*cublasLtMatmulAlgoConfigGetAttribute)(const Algorithm*, int, void*, size_t, size_t*);
    Status (*cublasLtMatmul)(Handle, OperationDescriptor, const void* alpha, const void* a,
                             LayoutDescriptor, const void* b, LayoutDescriptor, const void* beta,
                             const void* c, LayoutDescriptor, void* d, LayoutDescriptor,
                             const Algorithm*, void* workspace, size_t, void* stream);
};

/// The opened library.
class Library {
public:
    /// Error "library-missing" when there is none or it lacks a function.
    static Result<std::shared_ptr<const Library>> open();

    const Functions& call() const { return m_functions; }

    std::string version() const; ///< "13.1.0"

    const std::string& path() const { return m_library->path(); }

    std::string words(Status status) const { return m_functions.cublasLtGetStatusString(status); }

private:
    std::shared_ptr<SharedLibrary> m_library;
    Functions m_functions{};
};

using LibraryPtr = std::shared_ptr<const Library>;

} // namespace fuselage::gpu::cublaslt
