// SPDX-License-Identifier: Apache-2.0
// Nodes run on tensors as they are stored: the same as the reference functions make of them,
// whatever the type, permutation, cut, broadcast and extents.
#include "core/ops/evaluate_stored.h"
#include "tests/unit/ops_support.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace fuselage;
using namespace fuselage::testing_ops;

namespace {

struct Random {
    std::mt19937 engine{7};

    int64_t below(int64_t bound) {
        return static_cast<int64_t>(engine() % static_cast<uint64_t>(bound));
    }

    Tensor tensor(DType type) {
        Extents extents;
        for (int64_t rank = below(5); rank > 0; --rank)
            extents.push_back(below(3) == 0 ? below(90) : below(6));
        Tensor out(type, extents);
        for (int64_t i = 0; i < out.elementCount(); ++i)
            out.setInt(i, below(100));
        return out;
    }

    /// Of more elements than a piece has.
    Tensor large(DType type) {
        Tensor out(type, {1 + below(3), 40'000});
        for (int64_t i = 0; i < out.elementCount(); ++i)
            out.setInt(i, below(100));
        return out;
    }

    Tensor condition(const Tensor& like) {
        Tensor out(DType::Bool, like.extents());
        for (int64_t i = 0; i < out.elementCount(); ++i)
            out.setInt(i, below(2));
        return out;
    }

    /// Of the same type; broadcasts with `x`, in one round of eight not.
    Tensor broadcast(const Tensor& x) {
        Extents extents = x.extents();
        for (int64_t& extent : extents)
            extent = below(3) == 0 ? 1 : extent;
        extents.erase(extents.begin(),
                      extents.begin() + below(static_cast<int64_t>(extents.size()) + 1));
        if (below(8) == 0)
            extents.insert(extents.begin(), 2);
        Tensor out(x.dtype(), extents);
        for (int64_t i = 0; i < out.elementCount(); ++i)
            out.setInt(i, below(100));
        return out;
    }

    Node transpose(size_t rank) {
        std::vector<int64_t> perm(rank);
        std::iota(perm.begin(), perm.end(), 0);
        std::shuffle(perm.begin(), perm.end(), engine);
        return makeNode(Op::Transpose, 1, {{"perm", perm}});
    }

    ReferenceValue bounds(size_t count, int64_t from, int64_t to) {
        std::vector<int64_t> out;
        while (out.size() < count)
            out.push_back(from + below(to - from));
        return ints(DType::Int64, {static_cast<int64_t>(count)}, out);
    }
};

void expectSame(const Node& node, const Tensor& x, std::vector<ReferenceValue> rest) {
    std::vector<ReferenceValue> values{ReferenceValue::from(x)};
    std::move(rest.begin(), rest.end(), std::back_inserter(values));
    std::vector<const ReferenceValue*> inputs;
    for (const ReferenceValue& value : values)
        inputs.push_back(&value);
    Context context;
    auto expected = evaluateNode(node, inputs, context);
    auto windows = windowsOf(node, x.extents(), inputs);
    ASSERT_EQ(static_cast<bool>(expected), windows.has_value());
    if (!windows)
        return;
    ASSERT_EQ(windows->size(), expected->size());
    for (size_t i = 0; i < windows->size(); ++i)
        EXPECT_TRUE(identical(copyWindow(x, (*windows)[i]), (*expected)[i].toTensor()))
            << text(x.extents()) << " to " << text((*windows)[i].extents);
}

constexpr DType types[] = {DType::Float32, DType::Float16, DType::Int8, DType::Int64};

} // namespace

TEST(MoveTensor, TransposesAsTheReference) {
    Random random;
    for (int round = 0; round < 400; ++round) {
        const Tensor x = random.tensor(types[round % 4]);
        expectSame(random.transpose(x.rank()), x, {});
    }
}

TEST(MoveTensor, SlicesAsTheReference) {
    Random random;
    for (int round = 0; round < 400; ++round) {
        const Tensor x = random.tensor(types[round % 4]);
        ReferenceValue steps = random.bounds(x.rank(), -2, 4); // a step of 0 is refused by both
        expectSame(makeNode(Op::Slice, 5, {}), x,
                   {random.bounds(x.rank(), -100, 100), random.bounds(x.rank(), -100, 100),
                    [&] {
                        std::vector<int64_t> axes(x.rank());
                        std::iota(axes.begin(), axes.end(), 0);
                        return ints(DType::Int64, {static_cast<int64_t>(axes.size())}, axes);
                    }(),
                    steps});
    }
}

TEST(MoveTensor, SplitsAsTheReference) {
    Random random;
    for (int round = 0; round < 400; ++round) {
        const Tensor x = random.tensor(types[round % 4]);
        if (x.rank() == 0)
            continue;
        const int64_t axis = random.below(static_cast<int64_t>(x.rank()));
        const Node node =
            makeNode(Op::Split, 1, {{"axis", axis}}, static_cast<size_t>(1 + random.below(4)));
        if (random.below(2) == 0)
            expectSame(node, x, {});
        else // which sometimes fit
            expectSame(node, x, {random.bounds(node.outputs.size(), 0, 4)});
    }
}

TEST(MoveTensor, MovesTheSameOnce) {
    const auto x = std::make_shared<const Tensor>(DType::Float32, Extents{2, 3});
    ThreadPool threads(1);
    MovedTensors moved;
    const Node node = makeNode(Op::Transpose, 1, {});
    const auto first = evaluateStored(node, {x}, threads, moved);
    const auto second = evaluateStored(node, {x}, threads, moved);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->front(), second->front());
    EXPECT_EQ(first->front()->extents(), (Extents{3, 2}));
}

TEST(EvaluateStored, ComputesAsTheReference) {
    Random random;
    constexpr DType all[] = {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64,
                             DType::Int8,    DType::UInt8,   DType::Int4,     DType::UInt4,
                             DType::Int16,   DType::Int64,   DType::UInt64,   DType::Bool};
    constexpr Op ops[] = {Op::Add,  Op::Mul, Op::Div,       Op::Max,    Op::Less,  Op::And,
                          Op::Cast, Op::Neg, Op::ReduceSum, Op::Concat, Op::Equal, Op::Where};
    ThreadPool threads(2);
    int computed = 0;
    for (int round = 0; round < 3000; ++round) {
        const Op op = ops[random.below(std::size(ops))];
        const DType type = all[random.below(std::size(all))];
        const size_t arity = op == Op::Cast || op == Op::Neg || op == Op::ReduceSum ? 1 : 2;
        std::vector<StoredOperand> operands{std::make_shared<const Tensor>(
            round % 16 == 0 ? random.large(type) : random.tensor(type))};
        while (operands.size() < arity)
            operands.emplace_back(
                std::make_shared<const Tensor>(random.broadcast(*operands[0].tensor)));
        if (op == Op::Where) // whose condition is the last that was made, or is refused
            operands.insert(operands.begin(), std::make_shared<const Tensor>(
                                                  random.condition(*operands.back().tensor)));
        std::vector<Attribute> attributes;
        if (op == Op::Cast)
            attributes.push_back({"to", onnxNumber(all[random.below(std::size(all))])});
        const Node node = makeNode(op, operands.size(), attributes);
        std::vector<ReferenceValue> values;
        for (const StoredOperand& operand : operands)
            values.push_back(ReferenceValue::from(*operand.tensor));
        std::vector<const ReferenceValue*> inputs;
        for (const ReferenceValue& value : values)
            inputs.push_back(&value);
        Context context;
        const auto expected = evaluateNode(node, inputs, context);
        const auto stored = evaluateStored(node, operands, threads);
        ASSERT_EQ(static_cast<bool>(expected), static_cast<bool>(stored))
            << nameOf(op) << ' ' << nameOf(type);
        if (!stored)
            continue;
        ++computed;
        EXPECT_TRUE(identical(*stored->front(), expected->front().toTensor()))
            << nameOf(op) << ' ' << nameOf(type) << ' ' << text(stored->front()->extents());
    }
    EXPECT_GT(computed, 1000);
}

TEST(EvaluateStored, RefusesWhatNothingComputes) {
    ThreadPool threads(1);
    for (DType type : {DType::Complex64, DType::Complex128}) {
        const auto x = std::make_shared<const Tensor>(type, Extents{2, 2});
        for (Op op : {Op::Split, Op::Transpose, Op::Neg})
            EXPECT_FALSE(evaluateStored(makeNode(op, 1, {}), {x}, threads)) << nameOf(op);
    }
}

TEST(EvaluateStored, TakesOperandsWithoutElements) {
    ThreadPool threads(1);
    const auto x = std::make_shared<const Tensor>(Tensor::ofInts({3, 200}));
    const StoredOperand like(DType::Int8, Extents{7});
    const auto made = evaluateStored(makeNode(Op::CastLike, 2, {}), {x, like}, threads);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->front()->dtype(), DType::Int8);
    EXPECT_EQ(made->front()->toInts(), (std::vector<int64_t>{3, -56}));
}

TEST(MoveTensor, RefusesWhatTheReferenceRefuses) {
    const Tensor x(DType::Float32, {2, 3});
    const ReferenceValue head = ReferenceValue::tensor(DType::Float32, {2, 3});
    const std::vector<const ReferenceValue*> whole{&head};
    EXPECT_FALSE(windowsOf(makeNode(Op::Transpose, 1, {{"perm", std::vector<int64_t>{0, 0}}}),
                           x.extents(), whole));
    const std::vector<const ReferenceValue*> withoutBounds{&head, nullptr, nullptr};
    EXPECT_FALSE(windowsOf(makeNode(Op::Slice, 3, {}), x.extents(), withoutBounds));
    EXPECT_FALSE(windowsOf(makeNode(Op::Relu, 1, {}), x.extents(), whole));
}
