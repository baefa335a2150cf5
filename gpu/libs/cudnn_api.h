// SPDX-License-Identifier: Apache-2.0
// cuDNN's backend interface through the few functions that are used, declared here with the values
// that NVIDIA documents: no toolkit header is needed. tests/unit/gpu_headers_test.cpp holds each
// value to the header where there is one.
#pragma once

#include "core/support/result.h"
#include "gpu/runtime/libraries.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fuselage::gpu::cudnn {

using Status = int; ///< cudnnStatus_t; 0: success
using RawDescriptor = void*;
using Handle = struct HandleOfCudnn*;

enum StatusCodes : Status {
    Success = 0,
    NotSupported = 3000,
    NotSupportedShape = 3002,
    NotSupportedDataType = 3003,
    NotSupportedLayout = 3004,
    NotSupportedEnd = 4000, ///< codes from NotSupported on, below this, say: not this way
};

/// cudnnBackendDescriptorType_t
enum class Kind : int {
    Pointwise = 0,
    Convolution = 1,
    Engine = 2,
    EngineConfig = 3,
    EngineHeuristics = 4,
    ExecutionPlan = 5,
    KnobChoice = 7,
    OperationConvolutionForward = 10,
    OperationPointwise = 13,
    OperationGraph = 15,
    VariantPack = 16,
    Tensor = 17,
    MatMul = 18,
    OperationMatMul = 19,
    Reduction = 21,
    OperationReduction = 22,
    DeviceProperties = 38,
    OperationSdpaForward = 41,
};

/// cudnnBackendAttributeName_t
enum class Attribute : int {
    PointwiseMode = 0,
    PointwiseMathType = 1,
    PointwiseReluLowerClip = 3,
    PointwiseReluUpperClip = 4,
    PointwiseReluLowerClipSlope = 5,
    PointwiseEluAlpha = 6,
    PointwiseSoftplusBeta = 7,
    PointwiseSwishBeta = 8,
    ConvolutionComputeType = 100,
    ConvolutionMode = 101,
    ConvolutionDilations = 102,
    ConvolutionStrides = 103,
    ConvolutionPostPaddings = 104,
    ConvolutionPrePaddings = 105,
    ConvolutionSpatialDims = 106,
    HeuristicsMode = 200,
    HeuristicsGraph = 201,
    HeuristicsResults = 202,
    HeuristicsDeviceProperties = 204,
    ConfigEngine = 300,
    ConfigKnobChoices = 302,
    ConfigWorkspaceSize = 303,
    PlanHandle = 400,
    PlanEngineConfig = 401,
    PlanWorkspaceSize = 402,
    PlanJson = 405,
    PlanDeviceProperties = 407,
    KnobChoiceType = 600,
    KnobChoiceValue = 601,
    ConvolutionForwardAlpha = 700,
    ConvolutionForwardBeta = 701,
    ConvolutionForwardDescriptor = 702,
    ConvolutionForwardW = 703,
    ConvolutionForwardX = 704,
    ConvolutionForwardY = 705,
    PointwiseDescriptor = 750,
    PointwiseX = 751,
    PointwiseB = 752,
    PointwiseY = 753,
    GraphHandle = 800,
    GraphOperations = 801,
    TensorAlignment = 900,
    TensorDataType = 901,
    TensorDimensions = 902,
    TensorStrides = 903,
    TensorUniqueId = 906,
    TensorIsVirtual = 907,
    TensorIsByValue = 908,
    PackUniqueIds = 1000,
    PackPointers = 1001,
    PackWorkspace = 1003,
    EngineGlobalIndex = 1301,
    EngineNumericalNotes = 1303,
    EngineBehaviorNotes = 1305,
    MatMulComputeType = 1500,
    OperationMatMulA = 1520,
    OperationMatMulB = 1521,
    OperationMatMulC = 1522,
    OperationMatMulDescriptor = 1523,
    ReductionOperator = 1600,
    ReductionComputeType = 1601,
    OperationReductionX = 1610,
    OperationReductionY = 1611,
    OperationReductionDescriptor = 1612,
    DevicePropertiesJson = 2702,
    SdpaQ = 2800,
    SdpaK = 2801,
    SdpaV = 2802,
    SdpaO = 2803,
    SdpaScale = 2805,
};

/// cudnnBackendAttributeType_t
enum class Type : int {
    Handle = 0,
    DataType = 1,
    Boolean = 2,
    Int64 = 3,
    Float = 4,
    Double = 5,
    VoidPointer = 6,
    ConvolutionMode = 7,
    HeuristicsMode = 8,
    KnobType = 9,
    NumericalNote = 11,
    PointwiseMode = 14,
    Descriptor = 15,
    ReductionOperator = 18,
    BehaviorNote = 19,
    Char = 24,
};

/// cudnnDataType_t
enum class DataType : int { Float = 0, Half = 2, BFloat16 = 9 };

/// cudnnPointwiseMode_t
enum class Pointwise : int {
    Add = 0,
    Multiply = 1,
    Minimum = 2,
    Sqrt = 4,
    Divide = 6,
    Subtract = 9,
    Abs = 10,
    Exp = 13,
    Identity = 21,
    Relu = 100,
    Tanh = 101,
    Sigmoid = 102,
    Elu = 103,
    Gelu = 104,
    Softplus = 105,
    Swish = 106,
    GeluTanh = 107,
};

/// cudnnReduceTensorOp_t
enum class Reduce : int { Add = 0, Maximum = 3 };

constexpr int crossCorrelation = 1; ///< cudnnConvolutionMode_t

/// cudnnBackendHeurMode_t
enum class Heuristics : int { Fallback = 2, A = 3 };

/// cudnnBackendNumericalNote_t
enum class NumericalNote : int {
    TensorCore = 0,
    DownConvertInputs = 1,
    ReducedPrecisionReduction = 2,
    Fft = 3,
    Nondeterministic = 4,
    Winograd = 5,
    WinogradTile4 = 6,
    WinogradTile6 = 7,
    WinogradTile13 = 8,
    Count = 10,
};

/// cudnnBackendBehaviorNote_t
enum class BehaviorNote : int {
    RuntimeCompilation = 0,
    FilterReorder = 1,
    BiasReorder = 2,
    GraphNative = 3,
    Count = 5,
};

/// cudnnBackendKnobType_t, those with a name in tactics.
enum class Knob : int {
    Swizzle = 1,
    TileSize = 2,
    TileK = 13,
    Stages = 14,
    SplitKSlices = 17,
    KernelConfig = 24,
    TileCgaM = 27,
    TileCgaN = 28,
    StreamK = 38,
    TileM = 40,
    TileN = 41,
};

struct Functions {
    size_t (*getVersion)();
    const char* (*getErrorString)(Status);
    void (*getLastErrorString)(char*, size_t);
    Status (*create)(Handle*);
    Status (*destroy)(Handle);
    Status (*setStream)(Handle, void*);
    Status (*createDescriptor)(int, RawDescriptor*);
    Status (*destroyDescriptor)(RawDescriptor);
    Status (*finalize)(RawDescriptor);
    Status (*setAttribute)(RawDescriptor, int, int, int64_t, const void*);
    Status (*getAttribute)(RawDescriptor, int, int, int64_t, int64_t*, void*);
    Status (*execute)(Handle, RawDescriptor, RawDescriptor);
};

/// The opened library, of a version that is known to work.
class Library {
public:
    /// Error "library-missing" when there is none, it lacks a function or is older than cuDNN 9.
    static Result<std::shared_ptr<const Library>> open();

    const Functions& call() const { return m_functions; }

    std::string version() const; ///< "9.19.0"

    size_t versionNumber() const { return m_version; }

    const std::string& path() const { return m_library->path(); }

    /// What went wrong in the last call of this thread: the status in words and the condition that
    /// failed.
    std::string words(Status status) const;

private:
    std::shared_ptr<SharedLibrary> m_library;
    Functions m_functions{};
    size_t m_version = 0;
};

using LibraryPtr = std::shared_ptr<const Library>;

} // namespace fuselage::gpu::cudnn
