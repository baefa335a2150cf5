// SPDX-License-Identifier: Apache-2.0
// Runs a graph description in double precision, rounded where a tensor lies between two operations:
// what cuDNN is asked for, without cuDNN. Plain loops over dims with strides; broadcast dimensions
// are 1. How cuDNN rounds to integers is not documented, so what is stored as one must be one.
#pragma once

#include "gpu/libs/graph_description.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage::testing_gpu {

using namespace fuselage::gpu;

/// Memory of a run: one vector an operand of the program, elements at their strides.
struct GraphMemory {
    std::vector<std::vector<double>> inputs, outputs;
    std::vector<TensorPtr> constants; ///< parallel to inputs
};

class GraphRun {
public:
    GraphRun(const GraphDescription& graph, GraphMemory& memory)
        : m_graph(graph), m_memory(memory) {
        for (const GraphTensor& tensor : graph.tensors)
            m_virtual.emplace_back(tensor.memory.kind == TensorMemory::Kind::Virtual
                                       ? static_cast<size_t>(*elementCount(tensor.dims))
                                       : 0,
                                   std::nan(""));
        for (const PackedConstant& packed : graph.packed)
            m_packed.push_back(unpack(packed));
    }

    void run() {
        for (const GraphNode& node : m_graph.nodes)
            std::visit([&](const auto& x) { step(x); }, node);
    }

private:
    std::vector<double> unpack(const PackedConstant& packed) {
        auto bytes = pack(packed, m_memory.constants);
        EXPECT_TRUE(bytes);
        Tensor tensor(packed.dtype, {packed.elements()});
        std::copy(bytes->begin(), bytes->end(), tensor.bytes());
        std::vector<double> out;
        for (int64_t i = 0; i < packed.elements(); ++i)
            out.push_back(tensor.at(i));
        return out;
    }

    double& at(size_t index, const Extents& position) {
        const GraphTensor& tensor = m_graph.tensors[index];
        int64_t offset = tensor.memory.offset;
        for (size_t d = 0; d < tensor.dims.size(); ++d)
            offset += (tensor.dims[d] == 1 ? 0 : position[d]) * tensor.strides[d];
        const auto where = static_cast<size_t>(offset);
        switch (tensor.memory.kind) {
        case TensorMemory::Kind::Virtual:
            return m_virtual[index].at(where);
        case TensorMemory::Kind::Input:
            return m_memory.inputs[tensor.memory.index].at(where);
        case TensorMemory::Kind::Output:
            return m_memory.outputs[tensor.memory.index].at(where);
        case TensorMemory::Kind::Packed:
            return m_packed[tensor.memory.index].at(where);
        case TensorMemory::Kind::Scalar:
            return m_scalar = tensor.memory.value;
        }
        return m_scalar;
    }

    template <typename F> static void each(const Extents& extents, F f) {
        Extents index(extents.size(), 0);
        for (int64_t i = 0; i < *elementCount(extents); ++i) {
            f(index);
            for (size_t d = extents.size(); d-- > 0;) {
                if (++index[d] < extents[d])
                    break;
                index[d] = 0;
            }
        }
    }

    void step(const ConvolutionNode& node) {
        const Extents& x = m_graph.tensors[node.x].dims;
        const Extents& w = m_graph.tensors[node.w].dims;
        const Extents& y = m_graph.tensors[node.y].dims;
        const int64_t groups = x[1] / w[1], perGroup = w[0] / groups;
        each(y, [&](const Extents& out) {
            double sum = 0;
            each(Extents(w.begin() + 1, w.end()), [&](const Extents& tap) {
                Extents from = {out[0], out[1] / perGroup * w[1] + tap[0]};
                Extents filter = {out[1], tap[0]};
                for (size_t d = 2; d < y.size(); ++d) {
                    from.push_back(out[d] * node.strides[d - 2] - node.padsBegin[d - 2] +
                                   tap[d - 1] * node.dilations[d - 2]);
                    filter.push_back(tap[d - 1]);
                    if (from[d] < 0 || from[d] >= x[d])
                        return;
                }
                sum += at(node.x, from) * at(node.w, filter);
            });
            at(node.y, out) = sum;
        });
    }

    void step(const MatMulNode& node) {
        const Extents& c = m_graph.tensors[node.c].dims;
        const size_t m = c.size() - 2, n = c.size() - 1;
        each(c, [&](const Extents& out) {
            double sum = 0;
            Extents a = out, b = out;
            for (int64_t k = 0; k < m_graph.tensors[node.a].dims[n]; ++k) {
                a[n] = b[m] = k;
                sum += at(node.a, a) * at(node.b, b);
            }
            at(node.c, out) = sum;
        });
    }

    static double apply(const PointwiseNode& node, double x, double b) {
        switch (node.mode) {
        case PointwiseMode::Add:
            return x + b;
        case PointwiseMode::Multiply:
            return x * b;
        case PointwiseMode::Minimum:
            return std::min(x, b);
        case PointwiseMode::Subtract:
            return x - b;
        case PointwiseMode::Divide:
            return x / b;
        case PointwiseMode::Relu: {
            const double y =
                x > node.lowerClip ? x : node.lowerClip + node.slope * (x - node.lowerClip);
            return node.hasUpperClip ? std::min(y, node.upperClip) : y;
        }
        case PointwiseMode::Tanh:
            return std::tanh(x);
        case PointwiseMode::Sigmoid:
            return 1 / (1 + std::exp(-x));
        case PointwiseMode::Elu:
            return x > 0 ? x : node.alpha * std::expm1(x);
        case PointwiseMode::GeluErf:
            return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
        case PointwiseMode::GeluTanh:
            return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
        case PointwiseMode::Swish:
            return x / (1 + std::exp(-node.alpha * x));
        case PointwiseMode::Softplus:
            return std::log1p(std::exp(x));
        case PointwiseMode::Abs:
            return std::abs(x);
        case PointwiseMode::Sqrt:
            return std::sqrt(x);
        case PointwiseMode::Exp:
            return std::exp(x);
        case PointwiseMode::Identity:
            return x;
        }
        return std::nan("");
    }

    void step(const PointwiseNode& node) {
        each(m_graph.tensors[node.y].dims, [&](const Extents& out) {
            const double x = at(node.x, out);
            const double b = node.b ? at(*node.b, out) : 0;
            at(node.y, out) = stored(m_graph.tensors[node.y].dtype, apply(node, x, b));
        });
    }

    static double stored(DType type, double value) {
        if (isFloat(type))
            return type == DType::Float32 ? static_cast<float>(value) : value;
        EXPECT_EQ(value, std::nearbyint(value)) << "rounded by the library";
        EXPECT_TRUE(type == DType::Int8    ? std::abs(value + 0.5) < 128
                    : type == DType::UInt8 ? std::abs(value - 127.5) < 128
                                           : type == DType::Int32)
            << value << " does not fit in " << nameOf(type);
        return value;
    }

    void step(const ReductionNode& node) {
        const bool sums = node.mode == ReductionMode::Sum;
        each(m_graph.tensors[node.y].dims, [&](const Extents& out) {
            at(node.y, out) = sums ? 0 : -std::numeric_limits<double>::infinity();
        });
        each(m_graph.tensors[node.x].dims, [&](const Extents& in) {
            double& to = at(node.y, in); // dims of one take any position
            to = sums ? to + at(node.x, in) : std::max(to, at(node.x, in));
        });
    }

    void step(const SdpaNode& node) {
        const Extents& q = m_graph.tensors[node.q].dims;
        const int64_t keys = m_graph.tensors[node.k].dims[2];
        each(m_graph.tensors[node.o].dims, [&](const Extents& out) {
            std::vector<double> scores;
            for (int64_t s = 0; s < keys; ++s) {
                double sum = 0;
                for (int64_t d = 0; d < q[3]; ++d)
                    sum += at(node.q, {out[0], out[1], out[2], d}) *
                           at(node.k, {out[0], out[1], s, d});
                scores.push_back(sum * at(node.scale, out));
            }
            const double top = *std::max_element(scores.begin(), scores.end());
            double total = 0, value = 0;
            for (int64_t s = 0; s < keys; ++s) {
                const double weight = std::exp(scores[static_cast<size_t>(s)] - top);
                total += weight;
                value += weight * at(node.v, {out[0], out[1], s, out[3]});
            }
            at(node.o, out) = value / total;
        });
    }

    const GraphDescription& m_graph;
    GraphMemory& m_memory;
    std::vector<std::vector<double>> m_virtual, m_packed;
    double m_scalar = 0;
};

} // namespace fuselage::testing_gpu
