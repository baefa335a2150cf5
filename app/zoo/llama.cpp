// SPDX-License-Identifier: Apache-2.0
// One layer of a Llama-like language model with its cache, in four spellings of the same weights:
// as PyTorch's exporter writes it out, in operators of opset 23, in those that ONNX Runtime's model
// builder writes, and these with weights of 4 bits. One class a spelling: what it writes otherwise.
#include "app/zoo/builder.h"
#include "app/zoo/networks.h"

#include <cmath>
#include <limits>

namespace fuselage::zoo {

namespace {

constexpr int64_t queryHeads = 12, keyHeads = 4, headDepth = 64,
                  modelWidth = queryHeads * headDepth, innerWidth = 2048;
constexpr int64_t mostPositions = 1024;
constexpr double rmsEpsilon = 1e-5;
constexpr const char* contrib = "com.microsoft";

Attributes alongAxis(int64_t number) {
    Attributes out;
    out.set("axis", number);
    return out;
}

/// Cosines or sines of position times frequency, [mostPositions, headDepth / 2], or that twice side
/// by side.
Tensor rotations(double (*function)(double), bool twice) {
    const int64_t columns = twice ? headDepth : headDepth / 2;
    Tensor out(DType::Float32, {mostPositions, columns});
    for (int64_t position = 0; position < mostPositions; ++position)
        for (int64_t i = 0; i < columns; ++i) {
            const double rate =
                std::pow(10000.0, -2.0 * double(i % (headDepth / 2)) / double(headDepth));
            out.set(position * columns + i, function(double(position) * rate));
        }
    return out;
}

struct Attended {
    ValueId y, key, value; ///< [N,S,modelWidth], and the cache with the new rows
};

/// As PyTorch's exporter writes it out.
class Decomposed {
public:
    Decomposed(const char* name, uint64_t seed) : b(name, seed) {
        const Dim n = Dim::symbol("N"), s = Dim::symbol("S"), p = Dim::symbol("P");
        x = b.input("hidden", DType::Float32, {n, s, modelWidth});
        pastKey = b.input("past_key", DType::Float32, {n, keyHeads, p, headDepth});
        pastValue = b.input("past_value", DType::Float32, {n, keyHeads, p, headDepth});
        batch = b.dimension(x, 0);
        length = b.dimension(x, 1);
        past = b.dimension(pastKey, 2);
        total = b.apply(Op::Add, {past, length});
    }

    virtual ~Decomposed() = default;

    Graph build() {
        const ValueId normal = norm("input_layernorm", x);
        const Attended attended =
            attention(linear("q_proj", normal, modelWidth, modelWidth),
                      linear("k_proj", normal, modelWidth, keyHeads * headDepth),
                      linear("v_proj", normal, modelWidth, keyHeads * headDepth));
        auto [second, sum] = skipNorm("post_attention_layernorm", x,
                                      linear("o_proj", attended.y, modelWidth, modelWidth));
        const ValueId down = linear("down_proj", gated(second), innerWidth, modelWidth);
        b.output(b.apply(Op::Add, {sum, down}), "output");
        b.output(attended.key, "present_key");
        b.output(attended.value, "present_value");
        return b.finish(opset());
    }

protected:
    virtual int64_t opset() const { return 17; }

    virtual ValueId linear(const std::string& name, ValueId from, int64_t in, int64_t out) {
        Builder::Scope scope(b, name);
        return b.apply(Op::MatMul, {from, weight(in, out)});
    }

    ValueId weight(int64_t in, int64_t out) {
        return b.weight("weight", {in, out}, 1 / std::sqrt(double(in)));
    }

    virtual ValueId norm(const std::string& name, ValueId from) {
        Builder::Scope scope(b, name);
        const ValueId square = b.apply(Op::Pow, {from, b.constant(2)});
        Attributes rows;
        rows.set("axes", std::vector<int64_t>{-1});
        rows.set("keepdims", int64_t{1});
        const ValueId mean = b.apply(Op::ReduceMean, {square}, std::move(rows));
        const ValueId root =
            b.apply(Op::Sqrt, {b.apply(Op::Add, {mean, b.constant(float(rmsEpsilon))})});
        const ValueId scaled = b.apply(Op::Mul, {from, b.apply(Op::Reciprocal, {root})});
        return b.apply(Op::Mul, {b.weight("weight", {modelWidth}, 0.1, 1), scaled});
    }

    /// The norm of a sum, and the sum.
    virtual std::pair<ValueId, ValueId> skipNorm(const std::string& name, ValueId from,
                                                 ValueId beside) {
        const ValueId sum = b.apply(Op::Add, {from, beside});
        return {norm(name, sum), sum};
    }

    virtual Attended attention(ValueId q, ValueId k, ValueId v) {
        Builder::Scope scope(b, "self_attn");
        const ValueId at = positions();
        const ValueId cos = b.apply(Op::Gather, {b.table("cos", rotations(std::cos, true)), at});
        const ValueId sin = b.apply(Op::Gather, {b.table("sin", rotations(std::sin, true)), at});
        const ValueId queries = turned(split(q, queryHeads), cos, sin);
        const ValueId key =
            b.apply(Op::Concat, {pastKey, turned(split(k, keyHeads), cos, sin)}, alongAxis(2));
        const ValueId value = b.apply(Op::Concat, {pastValue, split(v, keyHeads)}, alongAxis(2));
        ValueId scores = b.apply(Op::MatMul, {queries, b.transpose(shared(key), {0, 1, 3, 2})});
        scores = b.apply(Op::Mul, {scores, b.constant(1 / std::sqrt(float(headDepth)))});
        const ValueId every = b.apply(Op::Range, {b.integer(0), total, b.integer(1)});
        const ValueId own = b.apply(Op::Unsqueeze, {at, b.integers({1})});
        const ValueId mask = b.apply(
            Op::Where, {b.apply(Op::Greater, {every, own}),
                        b.constant(-std::numeric_limits<float>::infinity()), b.constant(0)});
        scores = b.apply(Op::Softmax, {b.apply(Op::Add, {scores, mask})}, alongAxis(-1));
        const ValueId mixed =
            b.transpose(b.apply(Op::MatMul, {scores, shared(value)}), {0, 2, 1, 3});
        const ValueId y = b.reshape(mixed, b.shape({{batch}, {length}, {ValueId(), modelWidth}}));
        return {y, key, value};
    }

    /// [S], after what the cache holds.
    ValueId positions() { return b.apply(Op::Range, {past, total, b.integer(1)}); }

    Builder b;
    ValueId x, pastKey, pastValue, batch, length, past, total;

private:
    ValueId split(ValueId from, int64_t count) {
        const ValueId extents =
            b.shape({{batch}, {length}, {ValueId(), count}, {ValueId(), headDepth}});
        return b.transpose(b.reshape(from, extents), {0, 2, 1, 3});
    }

    ValueId turned(ValueId from, ValueId cos, ValueId sin) {
        const ValueId last = b.integers({3}), half = b.integers({headDepth / 2});
        const ValueId low = b.apply(Op::Slice, {from, b.integers({0}), half, last});
        const ValueId high = b.apply(
            Op::Slice, {from, half, b.integers({std::numeric_limits<int64_t>::max()}), last});
        const ValueId swapped = b.apply(Op::Concat, {b.apply(Op::Neg, {high}), low}, alongAxis(-1));
        return b.apply(Op::Add, {b.apply(Op::Mul, {from, cos}), b.apply(Op::Mul, {swapped, sin})});
    }

    /// Each head of keys or values for every query head that reads it.
    ValueId shared(ValueId from) {
        const ValueId wide = b.apply(Op::Expand, {b.apply(Op::Unsqueeze, {from, b.integers({2})}),
                                                  b.shape({{batch},
                                                           {ValueId(), keyHeads},
                                                           {ValueId(), queryHeads / keyHeads},
                                                           {total},
                                                           {ValueId(), headDepth}})});
        return b.reshape(
            wide, b.shape({{batch}, {ValueId(), queryHeads}, {total}, {ValueId(), headDepth}}));
    }

    ValueId gated(ValueId from) {
        const ValueId gate = linear("gate_proj", from, modelWidth, innerWidth);
        const ValueId swish = b.apply(Op::Mul, {gate, b.apply(Op::Sigmoid, {gate})});
        return b.apply(Op::Mul, {swish, linear("up_proj", from, modelWidth, innerWidth)});
    }
};

/// In operators of opset 23.
class Standard : public Decomposed {
public:
    using Decomposed::Decomposed;

protected:
    int64_t opset() const override { return 23; }

    ValueId norm(const std::string& name, ValueId from) override {
        Builder::Scope scope(b, name);
        Attributes attributes = alongAxis(-1);
        attributes.set("epsilon", rmsEpsilon);
        return b.apply(Op::RMSNormalization, {from, b.weight("weight", {modelWidth}, 0.1, 1)},
                       std::move(attributes));
    }

    Attended attention(ValueId q, ValueId k, ValueId v) override {
        Builder::Scope scope(b, "self_attn");
        const ValueId rows = b.apply(Op::Unsqueeze, {positions(), b.integers({0})});
        const ValueId at = b.apply(Op::Expand, {rows, b.shape({{batch}, {length}})});
        const ValueId cos = b.table("cos", rotations(std::cos, false));
        const ValueId sin = b.table("sin", rotations(std::sin, false));
        auto turned = [&](ValueId from, int64_t count) {
            Attributes attributes;
            attributes.set("num_heads", count);
            return b.apply(Op::RotaryEmbedding, {from, cos, sin, at}, std::move(attributes));
        };
        Attributes attributes;
        attributes.set("is_causal", int64_t{1});
        attributes.set("q_num_heads", queryHeads);
        attributes.set("kv_num_heads", keyHeads);
        const auto made = b.applyMany(
            Op::Attention,
            {turned(q, queryHeads), turned(k, keyHeads), v, ValueId(), pastKey, pastValue}, 3,
            std::move(attributes));
        return {made[0], made[1], made[2]};
    }
};

/// In operators that ONNX Runtime's model builder writes.
class Contrib : public Decomposed {
public:
    using Decomposed::Decomposed;

protected:
    ValueId norm(const std::string& name, ValueId from) override {
        Builder::Scope scope(b, name);
        Attributes attributes = alongAxis(-1);
        attributes.set("epsilon", rmsEpsilon);
        return b.applyForeign("", "SimplifiedLayerNormalization",
                              {from, b.weight("weight", {modelWidth}, 0.1, 1)}, {true},
                              std::move(attributes))[0];
    }

    std::pair<ValueId, ValueId> skipNorm(const std::string& name, ValueId from,
                                         ValueId beside) override {
        Builder::Scope scope(b, name);
        Attributes attributes;
        attributes.set("epsilon", rmsEpsilon);
        const auto made = b.applyForeign(contrib, "SkipSimplifiedLayerNormalization",
                                         {from, beside, b.weight("weight", {modelWidth}, 0.1, 1)},
                                         {true, false, false, true}, std::move(attributes));
        return {made[0], made[3]};
    }

    Attended attention(ValueId q, ValueId k, ValueId v) override {
        Builder::Scope scope(b, "self_attn");
        Attributes toInt32;
        toInt32.set("to", onnxNumber(DType::Int32));
        const ValueId all = b.apply(Op::Cast, {total}, toInt32);
        const ValueId last =
            b.apply(Op::Cast, {b.apply(Op::Sub, {total, b.integer(1)})}, std::move(toInt32));
        const ValueId ends = b.apply(Op::Expand, {last, b.shape({{batch}})});
        Attributes attributes;
        attributes.set("num_heads", queryHeads);
        attributes.set("kv_num_heads", keyHeads);
        attributes.set("do_rotary", int64_t{1});
        const auto made = b.applyForeign(contrib, "GroupQueryAttention",
                                         {q, k, v, pastKey, pastValue, ends, all,
                                          b.table("cos", rotations(std::cos, false)),
                                          b.table("sin", rotations(std::sin, false))},
                                         {true, true, true}, std::move(attributes));
        return {made[0], made[1], made[2]};
    }
};

/// The same with the weights of products in 4 bits, blocks of 32 with one scale each.
class FourBits : public Contrib {
public:
    using Contrib::Contrib;

protected:
    ValueId linear(const std::string& name, ValueId from, int64_t in, int64_t out) override {
        Builder::Scope scope(b, name);
        const int64_t blocks = in / block;
        Tensor codes(DType::UInt8, {out, blocks, block / 2});
        Tensor scales(DType::Float32, {out * blocks});
        const Tensor weights = b.weightData("weight", {in, out}, 1 / std::sqrt(double(in)));
        for (int64_t column = 0; column < out; ++column)
            for (int64_t i = 0; i < blocks; ++i)
                pack(weights, column, i, codes, scales);
        Attributes attributes;
        attributes.set("K", in);
        attributes.set("N", out);
        attributes.set("bits", int64_t{4});
        attributes.set("block_size", block);
        return b.applyForeign(contrib, "MatMulNBits",
                              {from, b.table(name + ".weight_Q4", std::move(codes)),
                               b.table(name + ".scales", std::move(scales))},
                              {true}, std::move(attributes))[0];
    }

private:
    static constexpr int64_t block = 32;

    static void pack(const Tensor& weights, int64_t column, int64_t index, Tensor& codes,
                     Tensor& scales) {
        const int64_t columns = weights.extents()[1], blocks = weights.extents()[0] / block;
        auto at = [&](int64_t k) { return weights.at((index * block + k) * columns + column); };
        double largest = 0;
        for (int64_t k = 0; k < block; ++k)
            largest = std::max(largest, std::abs(at(k)));
        const int64_t place = column * blocks + index;
        scales.set(place, largest / 7);
        const double scale = scales.at(place);
        auto code = [&](int64_t k) {
            return static_cast<int64_t>(std::nearbyint(at(k) / scale)) + 8;
        };
        for (int64_t k = 0; k < block; k += 2)
            codes.setInt(place * (block / 2) + k / 2, code(k) | code(k + 1) << 4);
    }
};

} // namespace

Graph llamaBlock(uint64_t seed) {
    return Decomposed("llama_block", seed).build();
}

Graph llamaBlockStandard(uint64_t seed) {
    return Standard("llama_block", seed).build();
}

Graph llamaBlockContrib(uint64_t seed) {
    return Contrib("llama_block", seed).build();
}

Graph llamaBlockFourBits(uint64_t seed) {
    return FourBits("llama_block", seed).build();
}

} // namespace fuselage::zoo
