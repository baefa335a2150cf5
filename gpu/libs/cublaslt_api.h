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
enum class DataType : int { Float32 = 0, Float16 = 2, BFloat16 = 14 };

/// cublasComputeType_t
enum class Compute : int { Float32 = 68, Float32FastTf32 = 77 };

/// cublasOperation_t
enum class Transpose : int { No = 0, Yes = 1 };

/// cublasLtMatmulDescAttributes_t
enum class OperationAttribute : int {
    TransposeA = 3,
    TransposeB = 4,
    Epilogue = 7,
    BiasPointer = 8,
    BiasBatchStride = 10,
    BiasDataType = 26,
};

/// cublasLtMatrixLayoutAttribute_t
enum class LayoutAttribute : int { BatchCount = 5, BatchStride = 6 };

/// cublasLtMatmulPreferenceAttributes_t
enum class PreferenceAttribute : int {
    MaxWorkspace = 1,
    ReductionSchemes = 3,
    AlignmentA = 5,
    AlignmentB = 6,
    AlignmentC = 7,
    AlignmentD = 8,
};

/// cublasLtReductionScheme_t: how the parts of a split sum meet.
enum class Reduction : uint32_t { None = 0, InPlace = 1, ComputeType = 2, OutputType = 4 };

/// cublasLtEpilogue_t, bits
enum class Epilogue : uint32_t { Default = 1, Relu = 2, Bias = 4, Gelu = 32 };

/// cublasLtMatmulAlgoConfigAttributes_t: the fields that name an algorithm.
enum class AlgorithmField : int {
    Id = 0,
    Tile = 1,
    SplitK = 2,
    ReductionScheme = 3,
    Swizzle = 4,
    CustomOption = 5,
    Stages = 6,
    InnerShape = 7,
    ClusterShape = 8,
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
    size_t (*getVersion)();
    const char* (*statusString)(Status);
    Status (*create)(Handle*);
    Status (*destroy)(Handle);
    Status (*operationCreate)(OperationDescriptor*, int computeType, int scaleType);
    Status (*operationDestroy)(OperationDescriptor);
    Status (*operationSet)(OperationDescriptor, int, const void*, size_t);
    Status (*layoutCreate)(LayoutDescriptor*, int type, uint64_t rows, uint64_t cols,
                           int64_t leading);
    Status (*layoutDestroy)(LayoutDescriptor);
    Status (*layoutSet)(LayoutDescriptor, int, const void*, size_t);
    Status (*preferenceCreate)(PreferenceDescriptor*);
    Status (*preferenceDestroy)(PreferenceDescriptor);
    Status (*preferenceSet)(PreferenceDescriptor, int, const void*, size_t);
    Status (*heuristic)(Handle, OperationDescriptor, LayoutDescriptor, LayoutDescriptor,
                        LayoutDescriptor, LayoutDescriptor, PreferenceDescriptor, int,
                        HeuristicResult*, int*);
    Status (*algorithmGet)(const Algorithm*, int, void*, size_t, size_t*);
    Status (*matmul)(Handle, OperationDescriptor, const void* alpha, const void* a,
                     LayoutDescriptor, const void* b, LayoutDescriptor, const void* beta,
                     const void* c, LayoutDescriptor, void* d, LayoutDescriptor, const Algorithm*,
                     void* workspace, size_t, void* stream);
};

/// The opened library.
class Library {
public:
    /// Error "library-missing" when there is none or it lacks a function.
    static Result<std::shared_ptr<const Library>> open();

    const Functions& call() const { return m_functions; }

    std::string version() const; ///< "13.1.0"

    const std::string& path() const { return m_library->path(); }

    std::string words(Status status) const { return m_functions.statusString(status); }

private:
    std::shared_ptr<SharedLibrary> m_library;
    Functions m_functions{};
};

using LibraryPtr = std::shared_ptr<const Library>;

} // namespace fuselage::gpu::cublaslt
