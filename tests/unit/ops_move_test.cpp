// SPDX-License-Identifier: Apache-2.0
// Elements moved as they are stored: the same as the reference functions make of them, whatever the
// type, permutation, cut and extents.
#include "core/ops/move_tensor.h"
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
    auto window = windowOf(node, x.extents(), inputs);
    ASSERT_EQ(static_cast<bool>(expected), window.has_value());
    if (window) {
        EXPECT_TRUE(identical(copyWindow(x, *window), (*expected)[0].toTensor()))
            << text(x.extents()) << " to " << text(window->extents);
    }
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

TEST(MoveTensor, RefusesWhatTheReferenceRefuses) {
    const Tensor x(DType::Float32, {2, 3});
    const ReferenceValue head = ReferenceValue::tensor(DType::Float32, {2, 3});
    const std::vector<const ReferenceValue*> whole{&head};
    EXPECT_FALSE(windowOf(makeNode(Op::Transpose, 1, {{"perm", std::vector<int64_t>{0, 0}}}),
                          x.extents(), whole));
    const std::vector<const ReferenceValue*> withoutBounds{&head, nullptr, nullptr};
    EXPECT_FALSE(windowOf(makeNode(Op::Slice, 3, {}), x.extents(), withoutBounds));
    EXPECT_FALSE(windowOf(makeNode(Op::Relu, 1, {}), x.extents(), whole));
}
