// SPDX-License-Identifier: Apache-2.0
// The values that gpu/libs declares for cuDNN and cuBLASLt are those of NVIDIA's headers: checked
// when this file is compiled, which is only where the headers are.
#include "gpu/libs/cublaslt_api.h"
#include "gpu/libs/cudnn_api.h"

#include <gtest/gtest.h>

#include <cublasLt.h>
#include <cudnn_backend.h>

using namespace fuselage::gpu;

#define SAME(ours, theirs)                                                                         \
    static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)

SAME(cudnn::Kind::Pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
SAME(cudnn::Kind::Convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
SAME(cudnn::Kind::Engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
SAME(cudnn::Kind::EngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
SAME(cudnn::Kind::EngineHeuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
SAME(cudnn::Kind::ExecutionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
SAME(cudnn::Kind::KnobChoice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
SAME(cudnn::Kind::OperationConvolutionForward,
     CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
SAME(cudnn::Kind::OperationPointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
SAME(cudnn::Kind::OperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
SAME(cudnn::Kind::VariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
SAME(cudnn::Kind::Tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
SAME(cudnn::Kind::MatMul, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
SAME(cudnn::Kind::OperationMatMul, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
SAME(cudnn::Kind::Reduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
SAME(cudnn::Kind::OperationReduction, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
SAME(cudnn::Kind::DeviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
SAME(cudnn::Kind::OperationSdpaForward, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);

SAME(cudnn::Attribute::PointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
SAME(cudnn::Attribute::PointwiseMathType, CUDNN_ATTR_POINTWISE_MATH_PREC);
SAME(cudnn::Attribute::PointwiseReluLowerClip, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP);
SAME(cudnn::Attribute::PointwiseReluUpperClip, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP);
SAME(cudnn::Attribute::PointwiseReluLowerClipSlope, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE);
SAME(cudnn::Attribute::PointwiseEluAlpha, CUDNN_ATTR_POINTWISE_ELU_ALPHA);
SAME(cudnn::Attribute::PointwiseSoftplusBeta, CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA);
SAME(cudnn::Attribute::PointwiseSwishBeta, CUDNN_ATTR_POINTWISE_SWISH_BETA);
SAME(cudnn::Attribute::ConvolutionComputeType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
SAME(cudnn::Attribute::ConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
SAME(cudnn::Attribute::ConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
SAME(cudnn::Attribute::ConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
SAME(cudnn::Attribute::ConvolutionPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
SAME(cudnn::Attribute::ConvolutionPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
SAME(cudnn::Attribute::ConvolutionSpatialDims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
SAME(cudnn::Attribute::HeuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE);
SAME(cudnn::Attribute::HeuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
SAME(cudnn::Attribute::HeuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
SAME(cudnn::Attribute::HeuristicsDeviceProperties, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
SAME(cudnn::Attribute::ConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE);
SAME(cudnn::Attribute::ConfigKnobChoices, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
SAME(cudnn::Attribute::ConfigWorkspaceSize, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
SAME(cudnn::Attribute::PlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
SAME(cudnn::Attribute::PlanEngineConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
SAME(cudnn::Attribute::PlanWorkspaceSize, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
SAME(cudnn::Attribute::PlanJson, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
SAME(cudnn::Attribute::PlanDeviceProperties, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
SAME(cudnn::Attribute::KnobChoiceType, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
SAME(cudnn::Attribute::KnobChoiceValue, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
SAME(cudnn::Attribute::ConvolutionForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
SAME(cudnn::Attribute::ConvolutionForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
SAME(cudnn::Attribute::ConvolutionForwardDescriptor,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
SAME(cudnn::Attribute::ConvolutionForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
SAME(cudnn::Attribute::ConvolutionForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
SAME(cudnn::Attribute::ConvolutionForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
SAME(cudnn::Attribute::PointwiseDescriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
SAME(cudnn::Attribute::PointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
SAME(cudnn::Attribute::PointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
SAME(cudnn::Attribute::PointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
SAME(cudnn::Attribute::GraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
SAME(cudnn::Attribute::GraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
SAME(cudnn::Attribute::TensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
SAME(cudnn::Attribute::TensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE);
SAME(cudnn::Attribute::TensorDimensions, CUDNN_ATTR_TENSOR_DIMENSIONS);
SAME(cudnn::Attribute::TensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
SAME(cudnn::Attribute::TensorUniqueId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
SAME(cudnn::Attribute::TensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
SAME(cudnn::Attribute::TensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
SAME(cudnn::Attribute::PackUniqueIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
SAME(cudnn::Attribute::PackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
SAME(cudnn::Attribute::PackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
SAME(cudnn::Attribute::EngineGlobalIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
SAME(cudnn::Attribute::EngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
SAME(cudnn::Attribute::EngineBehaviorNotes, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE);
SAME(cudnn::Attribute::MatMulComputeType, CUDNN_ATTR_MATMUL_COMP_TYPE);
SAME(cudnn::Attribute::OperationMatMulA, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
SAME(cudnn::Attribute::OperationMatMulB, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
SAME(cudnn::Attribute::OperationMatMulC, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
SAME(cudnn::Attribute::OperationMatMulDescriptor, CUDNN_ATTR_OPERATION_MATMUL_DESC);
SAME(cudnn::Attribute::ReductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR);
SAME(cudnn::Attribute::ReductionComputeType, CUDNN_ATTR_REDUCTION_COMP_TYPE);
SAME(cudnn::Attribute::OperationReductionX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
SAME(cudnn::Attribute::OperationReductionY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
SAME(cudnn::Attribute::OperationReductionDescriptor, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
SAME(cudnn::Attribute::DevicePropertiesJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
SAME(cudnn::Attribute::SdpaQ, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC);
SAME(cudnn::Attribute::SdpaK, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC);
SAME(cudnn::Attribute::SdpaV, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC);
SAME(cudnn::Attribute::SdpaO, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC);
SAME(cudnn::Attribute::SdpaScale, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC);

SAME(cudnn::Type::Handle, CUDNN_TYPE_HANDLE);
SAME(cudnn::Type::DataType, CUDNN_TYPE_DATA_TYPE);
SAME(cudnn::Type::Boolean, CUDNN_TYPE_BOOLEAN);
SAME(cudnn::Type::Int64, CUDNN_TYPE_INT64);
SAME(cudnn::Type::Float, CUDNN_TYPE_FLOAT);
SAME(cudnn::Type::Double, CUDNN_TYPE_DOUBLE);
SAME(cudnn::Type::VoidPointer, CUDNN_TYPE_VOID_PTR);
SAME(cudnn::Type::ConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE);
SAME(cudnn::Type::HeuristicsMode, CUDNN_TYPE_HEUR_MODE);
SAME(cudnn::Type::KnobType, CUDNN_TYPE_KNOB_TYPE);
SAME(cudnn::Type::NumericalNote, CUDNN_TYPE_NUMERICAL_NOTE);
SAME(cudnn::Type::PointwiseMode, CUDNN_TYPE_POINTWISE_MODE);
SAME(cudnn::Type::Descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
SAME(cudnn::Type::ReductionOperator, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
SAME(cudnn::Type::BehaviorNote, CUDNN_TYPE_BEHAVIOR_NOTE);
SAME(cudnn::Type::Char, CUDNN_TYPE_CHAR);

SAME(cudnn::DataType::Float, CUDNN_DATA_FLOAT);
SAME(cudnn::DataType::Half, CUDNN_DATA_HALF);
SAME(cudnn::DataType::BFloat16, CUDNN_DATA_BFLOAT16);

SAME(cudnn::Pointwise::Add, CUDNN_POINTWISE_ADD);
SAME(cudnn::Pointwise::Multiply, CUDNN_POINTWISE_MUL);
SAME(cudnn::Pointwise::Minimum, CUDNN_POINTWISE_MIN);
SAME(cudnn::Pointwise::Sqrt, CUDNN_POINTWISE_SQRT);
SAME(cudnn::Pointwise::Divide, CUDNN_POINTWISE_DIV);
SAME(cudnn::Pointwise::Subtract, CUDNN_POINTWISE_SUB);
SAME(cudnn::Reduce::Add, CUDNN_REDUCE_TENSOR_ADD);
SAME(cudnn::Reduce::Maximum, CUDNN_REDUCE_TENSOR_MAX);
SAME(cudnn::Pointwise::Abs, CUDNN_POINTWISE_ABS);
SAME(cudnn::Pointwise::Exp, CUDNN_POINTWISE_EXP);
SAME(cudnn::Pointwise::Identity, CUDNN_POINTWISE_IDENTITY);
SAME(cudnn::Pointwise::Relu, CUDNN_POINTWISE_RELU_FWD);
SAME(cudnn::Pointwise::Tanh, CUDNN_POINTWISE_TANH_FWD);
SAME(cudnn::Pointwise::Sigmoid, CUDNN_POINTWISE_SIGMOID_FWD);
SAME(cudnn::Pointwise::Elu, CUDNN_POINTWISE_ELU_FWD);
SAME(cudnn::Pointwise::Gelu, CUDNN_POINTWISE_GELU_FWD);
SAME(cudnn::Pointwise::Softplus, CUDNN_POINTWISE_SOFTPLUS_FWD);
SAME(cudnn::Pointwise::Swish, CUDNN_POINTWISE_SWISH_FWD);
SAME(cudnn::Pointwise::GeluTanh, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD);

SAME(cudnn::Heuristics::Fallback, CUDNN_HEUR_MODE_FALLBACK);
SAME(cudnn::Heuristics::A, CUDNN_HEUR_MODE_A);

SAME(cudnn::NumericalNote::TensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
SAME(cudnn::NumericalNote::DownConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
SAME(cudnn::NumericalNote::ReducedPrecisionReduction,
     CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
SAME(cudnn::NumericalNote::Fft, CUDNN_NUMERICAL_NOTE_FFT);
SAME(cudnn::NumericalNote::Nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
SAME(cudnn::NumericalNote::Winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD);
SAME(cudnn::NumericalNote::WinogradTile4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4);
SAME(cudnn::NumericalNote::WinogradTile6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6);
SAME(cudnn::NumericalNote::WinogradTile13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
SAME(cudnn::NumericalNote::Count, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);

SAME(cudnn::BehaviorNote::RuntimeCompilation, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
SAME(cudnn::BehaviorNote::FilterReorder, CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER);
SAME(cudnn::BehaviorNote::BiasReorder, CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER);
SAME(cudnn::BehaviorNote::GraphNative, CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API);
SAME(cudnn::BehaviorNote::Count, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);

SAME(cudnn::Knob::Swizzle, CUDNN_KNOB_TYPE_SWIZZLE);
SAME(cudnn::Knob::TileSize, CUDNN_KNOB_TYPE_TILE_SIZE);
SAME(cudnn::Knob::TileK, CUDNN_KNOB_TYPE_TILEK);
SAME(cudnn::Knob::Stages, CUDNN_KNOB_TYPE_STAGES);
SAME(cudnn::Knob::SplitKSlices, CUDNN_KNOB_TYPE_SPLIT_K_SLC);
SAME(cudnn::Knob::KernelConfig, CUDNN_KNOB_TYPE_KERNEL_CFG);
SAME(cudnn::Knob::TileCgaM, CUDNN_KNOB_TYPE_TILE_CGA_M);
SAME(cudnn::Knob::TileCgaN, CUDNN_KNOB_TYPE_TILE_CGA_N);
SAME(cudnn::Knob::StreamK, CUDNN_KNOB_TYPE_STREAM_K);
SAME(cudnn::Knob::TileM, CUDNN_KNOB_TYPE_TILE_M);
SAME(cudnn::Knob::TileN, CUDNN_KNOB_TYPE_TILE_N);

SAME(cudnn::Success, CUDNN_STATUS_SUCCESS);
SAME(cudnn::NotSupported, CUDNN_STATUS_NOT_SUPPORTED);
SAME(cudnn::NotSupportedShape, CUDNN_STATUS_NOT_SUPPORTED_SHAPE);
SAME(cudnn::NotSupportedDataType, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
SAME(cudnn::NotSupportedLayout, CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
SAME(cudnn::NotSupportedEnd, CUDNN_STATUS_INTERNAL_ERROR);
SAME(cudnn::crossCorrelation, CUDNN_CROSS_CORRELATION);

SAME(cublaslt::DataType::Float32, CUDA_R_32F);
SAME(cublaslt::DataType::Float16, CUDA_R_16F);
SAME(cublaslt::DataType::BFloat16, CUDA_R_16BF);

SAME(cublaslt::Compute::Float32, CUBLAS_COMPUTE_32F);
SAME(cublaslt::Compute::Float32FastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);

SAME(cublaslt::Transpose::No, CUBLAS_OP_N);
SAME(cublaslt::Transpose::Yes, CUBLAS_OP_T);

SAME(cublaslt::OperationAttribute::TransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(cublaslt::OperationAttribute::TransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(cublaslt::OperationAttribute::Epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(cublaslt::OperationAttribute::BiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(cublaslt::OperationAttribute::BiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
SAME(cublaslt::OperationAttribute::BiasDataType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);

SAME(cublaslt::LayoutAttribute::BatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(cublaslt::LayoutAttribute::BatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);

SAME(cublaslt::PreferenceAttribute::MaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(cublaslt::PreferenceAttribute::ReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(cublaslt::PreferenceAttribute::AlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(cublaslt::PreferenceAttribute::AlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(cublaslt::PreferenceAttribute::AlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(cublaslt::PreferenceAttribute::AlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

SAME(cublaslt::Reduction::None, CUBLASLT_REDUCTION_SCHEME_NONE);
SAME(cublaslt::Reduction::InPlace, CUBLASLT_REDUCTION_SCHEME_INPLACE);
SAME(cublaslt::Reduction::ComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME(cublaslt::Reduction::OutputType, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);

SAME(cublaslt::Epilogue::Default, CUBLASLT_EPILOGUE_DEFAULT);
SAME(cublaslt::Epilogue::Relu, CUBLASLT_EPILOGUE_RELU);
SAME(cublaslt::Epilogue::Bias, CUBLASLT_EPILOGUE_BIAS);
SAME(cublaslt::Epilogue::Gelu, CUBLASLT_EPILOGUE_GELU);

SAME(cublaslt::AlgorithmField::Id, CUBLASLT_ALGO_CONFIG_ID);
SAME(cublaslt::AlgorithmField::Tile, CUBLASLT_ALGO_CONFIG_TILE_ID);
SAME(cublaslt::AlgorithmField::SplitK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
SAME(cublaslt::AlgorithmField::ReductionScheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
SAME(cublaslt::AlgorithmField::Swizzle, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
SAME(cublaslt::AlgorithmField::CustomOption, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
SAME(cublaslt::AlgorithmField::Stages, CUBLASLT_ALGO_CONFIG_STAGES_ID);
SAME(cublaslt::AlgorithmField::InnerShape, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
SAME(cublaslt::AlgorithmField::ClusterShape, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);

static_assert(sizeof(cublaslt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cublaslt::HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cublaslt::HeuristicResult, workspaceBytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(cublaslt::HeuristicResult, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));

TEST(Headers, DeclaredValuesAreThoseOfTheToolkit) {
    SUCCEED() << "checked when this file was compiled";
}
