// SPDX-License-Identifier: Apache-2.0
#include "app/zoo/sdpa.h"

#include <cmath>

namespace fuselage::zoo {

namespace {

ValueId linearLayer(Builder& b, const std::string& name, ValueId x, int64_t in, int64_t out,
                    bool bias) {
    if (bias)
        return b.linear(name, x, in, out);
    Builder::Scope scope(b, name);
    return b.apply(Op::MatMul,
                   {x, b.weight("weight", {in, out}, 1 / std::sqrt(static_cast<double>(in)))});
}

} // namespace

ValueId sdpa(Builder& b, const std::string& name, const SdpaSpec& spec, ValueId queries,
             ValueId keys, ValueId values) {
    Builder::Scope scope(b, name);
    const int64_t from = spec.contextWidth ? spec.contextWidth : spec.width;
    const int64_t depth = spec.width / spec.heads;
    const ValueId batch = b.dimension(queries, 0), length = b.dimension(queries, 1);
    auto split = [&](ValueId x, const std::vector<int64_t>& order) {
        const ValueId extents =
            b.shape({{batch}, {ValueId(), -1}, {ValueId(), spec.heads}, {ValueId(), depth}});
        return b.transpose(b.reshape(x, extents), order);
    };
    const ValueId q =
        split(linearLayer(b, "to_q", queries, spec.width, spec.width, spec.bias), {0, 2, 1, 3});
    const ValueId k =
        split(linearLayer(b, "to_k", keys, from, spec.width, spec.bias), {0, 2, 3, 1});
    const ValueId v =
        split(linearLayer(b, "to_v", values, from, spec.width, spec.bias), {0, 2, 1, 3});
    const ValueId root =
        b.constant(static_cast<float>(std::pow(static_cast<double>(depth), -0.25)));
    const ValueId scores =
        b.apply(Op::MatMul, {b.apply(Op::Mul, {q, root}), b.apply(Op::Mul, {k, root})});
    Attributes last;
    last.set("axis", int64_t{-1});
    const ValueId mixed = b.apply(Op::MatMul, {b.apply(Op::Softmax, {scores}, std::move(last)), v});
    const ValueId rows = b.reshape(b.transpose(mixed, {0, 2, 1, 3}),
                                   b.shape({{batch}, {length}, {ValueId(), spec.width}}));
    return b.linear("to_out", rows, spec.width, spec.width);
}

ValueId sdpa(Builder& b, const std::string& name, const SdpaSpec& spec, ValueId x) {
    return sdpa(b, name, spec, x, x, x);
}

ValueId feedForward(Builder& b, const std::string& name, ValueId x, int64_t width, int64_t inner) {
    Builder::Scope scope(b, name);
    return b.linear("fc2", b.geluErf(b.linear("fc1", x, width, inner)), inner, width);
}

} // namespace fuselage::zoo
