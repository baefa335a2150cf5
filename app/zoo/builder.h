// SPDX-License-Identifier: Apache-2.0
// Builds a model graph layer by layer the way an exporter writes it: scoped names
// ("/layer1/conv1/Conv_output_0"), weights as initializers, shape arithmetic where the batch is
// dynamic. Knows nothing of particular networks.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <vector>

namespace fuselage::zoo {

class Builder {
public:
    Builder(std::string name, uint64_t seed) : m_graph(std::move(name)), m_seed(seed) {}

    /// Enters a scope; names made while the Scope lives are below it.
    class Scope {
    public:
        Scope(Builder& builder, const std::string& name)
            : m_builder(builder), m_length(builder.m_scope.size()) {
            builder.m_scope += "/" + name;
        }

        ~Scope() { m_builder.m_scope.resize(m_length); }

        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        Builder& m_builder;
        size_t m_length;
    };

    ValueId input(const std::string& name, DType dtype, Shape shape);
    void output(ValueId value, const std::string& name);

    /// Uniform in +-sqrt(3)*deviation around `mean`; depends on seed and name only.
    ValueId weight(const std::string& name, const Extents& extents, double deviation,
                   double mean = 0);
    /// Its numbers alone.
    Tensor weightData(const std::string& name, const Extents& extents, double deviation,
                      double mean = 0) const;
    ValueId table(const std::string& name, Tensor data);
    ValueId constant(float value);
    ValueId integers(const std::vector<int64_t>& values);
    ValueId integer(int64_t value); ///< rank 0

    ValueId apply(Op op, const std::vector<ValueId>& inputs, Attributes attributes = {});
    std::vector<ValueId> applyMany(Op op, const std::vector<ValueId>& inputs, size_t outputs,
                                   Attributes attributes = {});

    /// An operator that graphs hold in another form: read the saved model to run it. `asked`: which
    /// of its results there are.
    std::vector<ValueId> applyForeign(const std::string& domain, const std::string& op,
                                      const std::vector<ValueId>& inputs,
                                      const std::vector<bool>& asked, Attributes attributes);

    struct ConvSpec {
        int64_t in = 0, out = 0, kernel = 1, stride = 1, padding = 0, groups = 1;
        bool bias = false;
    };

    ValueId conv(const std::string& name, ValueId x, const ConvSpec& spec);
    ValueId convTranspose(const std::string& name, ValueId x, int64_t in, int64_t out,
                          int64_t kernel, int64_t stride);
    /// Inference-mode BatchNormalization with scale around `gain`.
    ValueId batchNorm(const std::string& name, ValueId x, int64_t channels, double gain = 1);
    ValueId layerNorm(const std::string& name, ValueId x, int64_t width, double epsilon);
    /// MatMul(x, w) then Add(bias, .), bias first, as exporters write a linear layer on 3-D input.
    ValueId linear(const std::string& name, ValueId x, int64_t in, int64_t out);
    /// Gemm with transB = 1, as exporters write a linear layer on 2-D input.
    ValueId gemm(const std::string& name, ValueId x, int64_t in, int64_t out);
    ValueId geluErf(ValueId x);  ///< Div, Erf, Add, Mul, Mul
    ValueId geluTanh(ValueId x); ///< Mul, Pow, Mul, Add, Mul, Tanh, Add, Mul
    ValueId transpose(ValueId x, const std::vector<int64_t>& order);

    /// Gather(Shape(x), axis): a rank-0 dimension, as exporters write size(axis).
    ValueId dimension(ValueId x, int64_t axis);
    /// Concat of Unsqueezed scalars and constants; entries with a valid value are dynamic.
    struct ShapeEntry {
        ValueId value;
        int64_t number = 0;
    };

    ValueId shape(const std::vector<ShapeEntry>& entries);
    ValueId reshape(ValueId x, ValueId shape);

    Graph finish(int64_t opset = 17);

private:
    std::string scoped(const std::string& name) const { return m_scope + "/" + name; }
    std::string weightName(const std::string& name) const;

    Graph m_graph;
    uint64_t m_seed;
    std::string m_scope;
};

} // namespace fuselage::zoo
