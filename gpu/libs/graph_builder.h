// SPDX-License-Identifier: Apache-2.0
// Builds a GraphDescription: tensors in the frame of the result, and the chain of pointwise nodes
// that an epilogue becomes.
#pragma once

#include "gpu/libs/contraction_match.h"
#include "gpu/libs/graph_description.h"

namespace fuselage::gpu {

/// The dimensions of the result as the graph sees them, and their order in memory.
struct GraphFrame {
    Extents dims;
    std::vector<size_t> order; ///< dimensions, innermost first
};

/// Dense strides of the extents in that order.
Extents denseStrides(const Extents& extents, const std::vector<size_t>& order);

class GraphBuilder {
public:
    GraphBuilder(const KernelRequest& request, GraphFrame frame)
        : m_request(request), m_frame(std::move(frame)) {}

    GraphDescription graph;

    const GraphFrame& frame() const { return m_frame; }

    /// Dimensions along which the operand does not move become 1, and strides of such dimensions
    /// what a dense tensor would have there.
    GraphTensor moved(Extents dims, Extents strides, DType dtype, const TensorMemory& memory) const;
    size_t add(GraphTensor tensor);
    size_t addInput(uint32_t operand, Extents dims, Extents strides, int64_t offset);
    /// Whether the operand repeats itself along a dimension from `first` on, which a product or
    /// convolution cannot read.
    bool repeats(size_t tensor, const Extents& extents, size_t first) const;
    size_t addVirtual(); ///< of the frame's extents, float32
    size_t addScalar(double value);
    size_t addStoredScalar(double value); ///< in device memory, float32
    /// A vector along the dimensions that `strides` moves in; one value is a scalar. Float32 where
    /// the values do not fit in the type.
    size_t addChannels(const std::vector<double>& values, const Extents& strides,
                       DType type = DType::Float32);
    /// Makes a virtual tensor a result of the program.
    void bindOutput(size_t tensor, uint32_t output, const Extents& strides, int64_t offset);

    /// One or more nodes from `x`; the tensor that holds the result. None when cuDNN has no
    /// operations for it.
    std::optional<size_t> activate(size_t x, const MatchedActivation& activation, bool tanhGelu);
    size_t pointwise(PointwiseMode mode, size_t x, std::optional<size_t> b = {});
    /// scale * (x - zero) of an operand that is stored as integers.
    size_t dequantised(size_t x, const PostOp::Stored& by);
    /// round(x / step) + zero within the type. Rounds half to even by adding and subtracting 1.5 *
    /// 2^23 in float32: how cuDNN rounds what it stores as bytes is not documented, and so it does
    /// not matter.
    size_t quantised(size_t x, const StoredResult& by);
    /// `x`, of the frame's extents, reduced along one dimension.
    size_t reduce(ReductionMode mode, size_t x, size_t dimension);

private:
    size_t clip(size_t x, double low, double high);
    size_t linear(size_t x, double scale, double shift);
    PointwiseNode& append(PointwiseMode mode, size_t x);

    const KernelRequest& m_request;
    GraphFrame m_frame;
};

/// Where the operands of an epilogue lie in the frame: strides with an entry a dimension.
struct EpilogueFrame {
    std::vector<StridedAccess> writes; ///< parallel to the epilogue's
    std::vector<StridedAccess> reads;
    Extents channel; ///< of a dense vector along the channels
};

/// What is said of operands that repeat themselves.
Reason repeatingOperand();

/// Appends the epilogue to `accumulator` and binds the outputs. `scaleFolded`: the weights hold the
/// scale. Reason "epilogue" when there is no operation for a function.
std::optional<Reason> addEpilogue(GraphBuilder& builder, size_t accumulator,
                                  const MatchedContraction& matched, const EpilogueFrame& frame,
                                  bool scaleFolded, bool tanhGelu);

} // namespace fuselage::gpu
