// SPDX-License-Identifier: Apache-2.0
// A sequence tagger: embedding, two bidirectional LSTM layers, a linear head, LogSoftmax.
#include "app/zoo/builder.h"
#include "app/zoo/networks.h"

#include <cmath>

namespace fuselage::zoo {

namespace {

constexpr int64_t hidden = 192;

/// One bidirectional layer over a sequence-first value; returns [S, N, 2*hidden].
ValueId bidirectional(Builder& b, const std::string& name, ValueId x, int64_t in) {
    Builder::Scope scope(b, name);
    ValueId batch = b.dimension(x, 1);
    ValueId zeros =
        b.apply(Op::ConstantOfShape, {b.shape({{ValueId(), 2}, {batch}, {ValueId(), hidden}})});
    double deviation = 1 / std::sqrt(static_cast<double>(hidden));
    Attributes attributes;
    attributes.set("direction", std::string("bidirectional"));
    attributes.set("hidden_size", hidden);
    std::vector<ValueId> inputs{x,
                                b.weight("W", {2, 4 * hidden, in}, deviation),
                                b.weight("R", {2, 4 * hidden, hidden}, deviation),
                                b.weight("B", {2, 8 * hidden}, deviation),
                                ValueId(),
                                zeros,
                                zeros};
    ValueId y = b.applyMany(Op::LSTM, inputs, 3, std::move(attributes))[0];
    return b.reshape(b.transpose(y, {0, 2, 1, 3}), b.integers({0, 0, -1}));
}

} // namespace

Graph lstm(uint64_t seed) {
    Builder b("lstm", seed);
    ValueId ids = b.input("input_ids", DType::Int64, {Dim::symbol("N"), Dim::symbol("S")});
    ValueId x = b.apply(Op::Gather, {b.weight("emb.weight", {5000, 128}, 1), ids});
    x = b.transpose(x, {1, 0, 2});
    x = bidirectional(b, "rnn.0", x, 128);
    x = bidirectional(b, "rnn.1", x, 2 * hidden);
    x = b.linear("out", b.transpose(x, {1, 0, 2}), 2 * hidden, 20);
    Attributes axis;
    axis.set("axis", int64_t{-1});
    b.output(b.apply(Op::LogSoftmax, {x}, std::move(axis)), "log_probs");
    return b.finish();
}

} // namespace fuselage::zoo
