// SPDX-License-Identifier: Apache-2.0
// A program as the graph of operations that cuDNN is asked for: plain data that tests read and run
// without the library (cudnn_ops.h turns it into descriptors). Made by describe(), which looks at
// accesses, layouts and tapes only.
#pragma once

#include "gpu/emit/packed_constant.h"
#include "gpu/emit/tactic.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fuselage::gpu {

/// What is behind a tensor of a library call.
struct TensorMemory {
    enum class Kind : uint8_t {
        Virtual, ///< between two operations, never in memory
        Input,   ///< operand `index` of the program
        Output,
        Packed, ///< constant `index` of the description
        Scalar, ///< `value`, passed by the host
    };

    Kind kind = Kind::Virtual;
    uint32_t index = 0;
    int64_t offset = 0; ///< elements from the operand's start
    double value = 0;
};

struct GraphTensor {
    DType dtype = DType::Float32;
    Extents dims; ///< broadcast dimensions are 1
    Extents strides;
    TensorMemory memory;
    int64_t alignment = 16; ///< bytes
};

/// y = conv(x, w), channels in dimension 1 whatever the strides say; group count by the extents.
struct ConvolutionNode {
    size_t x = 0, w = 0, y = 0; ///< tensors
    Extents padsBegin, padsEnd, strides, dilations;
};

/// c[batch..., m, n] = a[batch..., m, k] * b[batch..., k, n]
struct MatMulNode {
    size_t a = 0, b = 0, c = 0;
};

enum class PointwiseMode : uint8_t {
    Add,
    Multiply,
    Minimum,
    Subtract, ///< x - b
    Divide,   ///< x / b
    Relu,     ///< lowerClip + slope * (x - lowerClip) below lowerClip, at most upperClip
    Tanh,
    Sigmoid,
    Elu, ///< alpha
    GeluErf,
    GeluTanh,
    Swish, ///< x sigmoid(alpha x)
    Softplus,
    Abs,
    Sqrt,
    Exp,
    Identity,
};

struct PointwiseNode {
    PointwiseMode mode = PointwiseMode::Identity;
    size_t x = 0;
    std::optional<size_t> b; ///< of those with two operands: broadcasts to x
    size_t y = 0;
    double lowerClip = 0, upperClip = 0, slope = 0, alpha = 1;
    bool hasUpperClip = false;
};

enum class ReductionMode : uint8_t { Sum, Maximum };

/// y = x reduced along the dimensions in which y has one element
struct ReductionNode {
    ReductionMode mode = ReductionMode::Sum;
    size_t x = 0, y = 0;
};

/// o = softmax(scale q k^T) v over [batch, heads, length, depth]
struct SdpaNode {
    size_t q = 0, k = 0, v = 0, o = 0, scale = 0;
};

using GraphNode = std::variant<ConvolutionNode, MatMulNode, PointwiseNode, ReductionNode, SdpaNode>;

struct GraphDescription {
    std::vector<GraphTensor> tensors; ///< unique ids are positions plus one
    std::vector<GraphNode> nodes;
    std::vector<PackedConstant> packed;
    NumericClass numeric = NumericClass::Reassociated;
    DType operands = DType::Float32; ///< of the product or convolution
    bool channelsLast = true;        ///< of a convolution: how its operands lie
    std::string form;                ///< of several descriptions of one program: "", "tanh"
};

const char* nameOf(PointwiseMode mode);
const char* nameOf(ReductionMode mode);

/// "conv(in0, packed0) -> t3; relu(t3) -> out0", tensors with dims and strides; for tests.
std::string text(const GraphDescription& graph);

/// Equal for graphs that one plan computes, whatever their constants are.
std::string planKey(const GraphDescription& graph);

/// Contractions (Conv, MatMul) and Attention; a program may have a second form where the request
/// allows approximations. A Reason when it is not such a program or uses what cuDNN graphs lack.
std::variant<std::vector<GraphDescription>, Reason> describe(const KernelRequest& request);

} // namespace fuselage::gpu
