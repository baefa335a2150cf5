// SPDX-License-Identifier: Apache-2.0
// Computes a finished graph of the stand-in for cuDNN, operation by operation in double; what lies
// between two operations is rounded to its tensor's type.
#include "tests/fakecuda/libraries/cudnn_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace fakelibs {

namespace {

using dnn::Attribute;
using dnn::Kind;

/// Values in row-major order.
struct Dense {
    Numbers extents;
    std::vector<double> values;

    double at(const Numbers& index) const {
        int64_t element = 0;
        for (size_t d = 0; d < extents.size(); ++d)
            element = element * extents[d] + (extents[d] == 1 ? 0 : index[d]);
        return values[static_cast<size_t>(element)];
    }
};

/// Calls f with every index in row-major order.
void each(const Numbers& extents, const std::function<void(const Numbers&)>& f) {
    Numbers index(extents.size(), 0);
    for (int64_t i = 0; i < countOf(extents); ++i) {
        f(index);
        for (size_t d = extents.size(); d-- > 0;) {
            if (++index[d] < extents[d])
                break;
            index[d] = 0;
        }
    }
}

Dense made(const Numbers& extents, const std::function<double(const Numbers&)>& f) {
    Dense out{extents, {}};
    each(extents, [&](const Numbers& index) { out.values.push_back(f(index)); });
    return out;
}

Dense convolution(const Object& op, const Dense& x, const Dense& w, const Numbers& y) {
    const Object& conv =
        *op.reference(Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
    const Numbers pads = conv.list<int64_t>(Attribute::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    const Numbers strides = conv.list<int64_t>(Attribute::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    const Numbers dilations = conv.list<int64_t>(Attribute::CUDNN_ATTR_CONVOLUTION_DILATIONS);
    const int64_t filtersOfGroup = w.extents[0] / (x.extents[1] / w.extents[1]);
    return made(y, [&](const Numbers& out) {
        double sum = 0;
        each(Numbers(w.extents.begin() + 1, w.extents.end()), [&](const Numbers& tap) {
            Numbers from = out, filter = {out[1]};
            filter.insert(filter.end(), tap.begin(), tap.end());
            from[1] = out[1] / filtersOfGroup * w.extents[1] + tap[0];
            for (size_t d = 0; d < pads.size(); ++d) {
                from[d + 2] = out[d + 2] * strides[d] - pads[d] + tap[d + 1] * dilations[d];
                if (from[d + 2] < 0 || from[d + 2] >= x.extents[d + 2])
                    return;
            }
            sum += x.at(from) * w.at(filter);
        });
        return sum;
    });
}

Dense product(const Dense& a, const Dense& b, const Numbers& c) {
    const size_t m = c.size() - 2, n = c.size() - 1;
    return made(c, [&](const Numbers& out) {
        double sum = 0;
        Numbers left = out, right = out;
        for (int64_t k = 0; k < a.extents[n]; ++k) {
            left[n] = right[m] = k;
            sum += a.at(left) * b.at(right);
        }
        return sum;
    });
}

double apply(const Object& pointwise, double x, double b) {
    using dnn::Pointwise;
    auto number = [&](Attribute attribute, double otherwise) {
        return pointwise.one<double>(attribute, otherwise);
    };
    switch (static_cast<Pointwise>(pointwise.one<int>(Attribute::CUDNN_ATTR_POINTWISE_MODE, -1))) {
    case Pointwise::CUDNN_POINTWISE_ADD:
        return x + b;
    case Pointwise::CUDNN_POINTWISE_MUL:
        return x * b;
    case Pointwise::CUDNN_POINTWISE_MIN:
        return std::min(x, b);
    case Pointwise::CUDNN_POINTWISE_SUB:
        return x - b;
    case Pointwise::CUDNN_POINTWISE_DIV:
        return x / b;
    case Pointwise::CUDNN_POINTWISE_SQRT:
        return std::sqrt(x);
    case Pointwise::CUDNN_POINTWISE_ABS:
        return std::abs(x);
    case Pointwise::CUDNN_POINTWISE_EXP:
        return std::exp(x);
    case Pointwise::CUDNN_POINTWISE_IDENTITY:
        return x;
    case Pointwise::CUDNN_POINTWISE_RELU_FWD: {
        const double low = number(Attribute::CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
        const double high = number(Attribute::CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
                                   std::numeric_limits<double>::infinity());
        const double slope = number(Attribute::CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
        return x > low ? std::min(x, high) : low + slope * (x - low);
    }
    case Pointwise::CUDNN_POINTWISE_TANH_FWD:
        return std::tanh(x);
    case Pointwise::CUDNN_POINTWISE_SIGMOID_FWD:
        return 1 / (1 + std::exp(-x));
    case Pointwise::CUDNN_POINTWISE_ELU_FWD:
        return x > 0 ? x : number(Attribute::CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1) * std::expm1(x);
    case Pointwise::CUDNN_POINTWISE_GELU_FWD:
        return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    case Pointwise::CUDNN_POINTWISE_SOFTPLUS_FWD: {
        const double beta = number(Attribute::CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1);
        return std::log1p(std::exp(beta * x)) / beta;
    }
    case Pointwise::CUDNN_POINTWISE_SWISH_FWD:
        return x / (1 + std::exp(-number(Attribute::CUDNN_ATTR_POINTWISE_SWISH_BETA, 1) * x));
    case Pointwise::CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
        return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    }
    return std::nan("");
}

Dense pointwise(const Object& op, const Dense& x, const Dense* b) {
    const Object& mode = *op.reference(Attribute::CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    return made(x.extents,
                [&](const Numbers& at) { return apply(mode, x.at(at), b ? b->at(at) : 0); });
}

Dense reduction(const Object& op, const Dense& x, const Numbers& y) {
    const bool adds = op.reference(Attribute::CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                          ->one<int>(Attribute::CUDNN_ATTR_REDUCTION_OPERATOR, -1) ==
                      static_cast<int>(dnn::Reduce::CUDNN_REDUCE_TENSOR_ADD);
    Dense out{y, {}};
    out.values.assign(static_cast<size_t>(countOf(y)),
                      adds ? 0 : -std::numeric_limits<double>::infinity());
    each(x.extents, [&](const Numbers& at) {
        int64_t element = 0;
        for (size_t d = 0; d < y.size(); ++d)
            element = element * y[d] + (y[d] == 1 ? 0 : at[d]);
        double& to = out.values[static_cast<size_t>(element)];
        to = adds ? to + x.at(at) : std::isnan(x.at(at)) ? x.at(at) : std::max(to, x.at(at));
    });
    return out;
}

Dense attention(const Dense& q, const Dense& k, const Dense& v, double scale, const Numbers& o) {
    return made(o, [&](const Numbers& out) {
        std::vector<double> scores;
        for (int64_t s = 0; s < k.extents[2]; ++s) {
            double sum = 0;
            for (int64_t d = 0; d < q.extents[3]; ++d)
                sum += q.at({out[0], out[1], out[2], d}) * k.at({out[0], out[1], s, d});
            scores.push_back(sum * scale);
        }
        const double top = *std::max_element(scores.begin(), scores.end());
        double total = 0, value = 0;
        for (int64_t s = 0; s < k.extents[2]; ++s) {
            const double weight = std::exp(scores[static_cast<size_t>(s)] - top);
            total += weight;
            value += weight * v.at({out[0], out[1], s, out[3]});
        }
        return value / total;
    });
}

} // namespace

void run(const PlannedGraph& graph, const std::map<int64_t, void*>& addresses,
         const std::map<int64_t, double>& scalars) {
    std::map<int64_t, Dense> values;
    auto valueOf = [&](int64_t id) -> const Dense& {
        const GraphTensor& tensor = graph.tensors.at(id);
        auto [found, fresh] = values.try_emplace(id);
        if (fresh)
            found->second = {tensor.layout.extents, tensor.byValue
                                                        ? std::vector<double>{scalars.at(id)}
                                                        : read(addresses.at(id), tensor.layout)};
        return found->second;
    };
    for (const GraphOperation& op : graph.operations) {
        std::vector<const Dense*> in;
        for (int64_t id : op.inputs)
            in.push_back(&valueOf(id));
        const GraphTensor& target = graph.tensors.at(op.output);
        const Numbers& extents = target.layout.extents;
        Dense out;
        if (op.object->kind == Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
            out = convolution(*op.object, *in[0], *in[1], extents);
        else if (op.object->kind == Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
            out = product(*in[0], *in[1], extents);
        else if (op.object->kind == Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
            out = pointwise(*op.object, *in[0], in.size() > 1 ? in[1] : nullptr);
        else if (op.object->kind == Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
            out = reduction(*op.object, *in[0], extents);
        else
            out = attention(*in[0], *in[1], *in[2], in.size() > 3 ? in[3]->values[0] : 1, extents);
        for (double& value : out.values)
            value = rounded(target.layout.type, value);
        values[op.output] = std::move(out);
    }
    // All results are written at the end: an operand that overlaps one was read whole.
    for (const GraphOperation& op : graph.operations)
        if (!graph.tensors.at(op.output).isVirtual)
            write(addresses.at(op.output), graph.tensors.at(op.output).layout,
                  values.at(op.output).values);
}

} // namespace fakelibs
