// SPDX-License-Identifier: Apache-2.0
// Expressions: three truth values, symbolic dimensions, functions on numbers and constants.
#include "core/rewrite/functions.h"
#include "tests/unit/rewrite_builder.h"

#include <algorithm>
#include <string_view>

using namespace fuselage;
using namespace fuselage::test;

namespace {

Quantity eval(const Expression& expression, const Graph& graph = Graph(), const Rule& rule = {},
              const std::vector<Binding>& slots = {}) {
    std::vector<DimBinding> dims;
    return evaluate({graph, rule, slots, dims}, expression);
}

Quantity dims(std::vector<Dim> list) {
    Quantity::List items;
    for (const Dim& dim : list)
        items.push_back(Quantity::dimension(dim));
    return Quantity::list(std::move(items));
}

} // namespace

TEST(Quantity, UnknownIsNotFalse) {
    EXPECT_EQ(Truth::False && Truth::Unknown, Truth::False);
    EXPECT_EQ(Truth::True && Truth::Unknown, Truth::Unknown);
    EXPECT_EQ(Truth::True || Truth::Unknown, Truth::True);
    EXPECT_EQ(!Truth::Unknown, Truth::Unknown);
    EXPECT_EQ(equal(Quantity::unknown("x"), Quantity::integer(1)), Truth::Unknown);
}

TEST(Quantity, SymbolicDimensionsCompareByValueWhereTheyCan) {
    Dim n = Dim::symbol("N");
    EXPECT_EQ(equal(Quantity::dimension(n), Quantity::dimension(n)), Truth::True);
    EXPECT_EQ(equal(Quantity::dimension(n + 1), Quantity::dimension(n)), Truth::False);
    EXPECT_EQ(equal(Quantity::dimension(n), Quantity::integer(3)), Truth::Unknown);
    EXPECT_EQ(equal(dims({n, 3}), dims({n, 4})), Truth::False);
    EXPECT_EQ(equal(dims({n, 3}), dims({4, 3})), Truth::Unknown);
    EXPECT_EQ(less(Quantity::dimension(n), Quantity::dimension(n + 1)), Truth::True);
}

TEST(Quantity, DecimalNumbersEqualTheirFloat32) {
    EXPECT_EQ(equal(Quantity::real(static_cast<double>(1e-5F)), Quantity::real(1e-5)), Truth::True);
    EXPECT_EQ(equal(Quantity::real(1e-5), Quantity::real(1.1e-5)), Truth::False);
}

TEST(Quantity, ArithmeticKeepsIntegersAndSymbols) {
    Quantity half = arithmetic("/", Quantity::integer(6), Quantity::integer(4));
    EXPECT_EQ(half.number(), 1.5);
    Quantity sum = arithmetic("+", Quantity::dimension(Dim::symbol("N")), Quantity::integer(2));
    EXPECT_EQ(sum.text(), "N+2");
    EXPECT_TRUE(arithmetic("/", Quantity::integer(1), Quantity::integer(0)).isUnknown());
}

TEST(Quantity, ListsAreComputedItemByItem) {
    auto ints = [](std::initializer_list<int64_t> values) {
        Quantity::List out;
        for (int64_t value : values)
            out.push_back(Quantity::integer(value));
        return Quantity::list(std::move(out));
    };
    EXPECT_EQ(arithmetic("+", ints({1, 2}), ints({3, 4})).text(), "[4, 6]");
    EXPECT_EQ(arithmetic("*", Quantity::integer(2), ints({3, 4})).text(), "[6, 8]");
    EXPECT_TRUE(arithmetic("+", ints({1, 2}), ints({3})).isUnknown());
    const Quantity tensor{std::make_shared<Tensor>(Tensor::ofInts({5, 6}))};
    EXPECT_EQ(arithmetic("-", tensor, ints({1, 2})).text(), "[4, 4]");
}

TEST(Quantity, AListComparesAsAllItsItemsDo) {
    auto ints = [](std::initializer_list<int64_t> values) {
        Quantity::List out;
        for (int64_t value : values)
            out.push_back(Quantity::integer(value));
        return Quantity::list(std::move(out));
    };
    const Quantity one = Quantity::integer(1);
    EXPECT_EQ(compare("==", ints({1, 1}), one), Truth::True);
    EXPECT_EQ(compare("!=", ints({1, 1}), one), Truth::False);
    EXPECT_EQ(compare("!=", ints({1, 2}), one), Truth::True);
    EXPECT_EQ(compare("==", one, ints({1, 2})), Truth::False);
    EXPECT_EQ(compare(">", ints({2, 3}), one), Truth::True);
    EXPECT_EQ(compare(">=", ints({0, 3}), one), Truth::False);
    EXPECT_EQ(compare("<=", one, ints({1, 3})), Truth::True);
    EXPECT_EQ(compare("<", ints({1, 1}), ints({2, 2})), Truth::True);
    EXPECT_EQ(compare("<", ints({1, 2}), ints({2, 2})), Truth::False);
    EXPECT_EQ(compare("<=", ints({1}), ints({2, 2})), Truth::Unknown);
    EXPECT_EQ(compare("==", ints({1}), ints({1, 1})), Truth::False);
    EXPECT_EQ(compare("==", ints({1, 1}), Quantity::none()), Truth::False);
    EXPECT_EQ(compare(">", Quantity::list({Quantity::dimension(Dim::symbol("N"))}), one),
              Truth::Unknown);
}

TEST(Quantity, SlicesAndItemsAtSeveralPlaces) {
    auto slice = [](std::optional<double> from, std::optional<double> to) {
        Expression out;
        out.kind = Expression::Kind::Slice;
        out.args = {list({number(7), number(8), number(9)}), from ? number(*from) : Expression(),
                    to ? number(*to) : Expression()};
        return eval(out).text();
    };
    EXPECT_EQ(slice({}, {}), "[7, 8, 9]");
    EXPECT_EQ(slice(1, {}), "[8, 9]");
    EXPECT_EQ(slice({}, -1), "[7, 8]");
    EXPECT_EQ(slice(2, 1), "[]");
    EXPECT_EQ(slice(-9, 99), "[7, 8, 9]");
    EXPECT_EQ(slice(0.5, {}), "?");
    Expression places;
    places.kind = Expression::Kind::Index;
    places.args = {list({number(7), number(8), number(9)}), list({number(2), number(-3)})};
    EXPECT_EQ(eval(places).text(), "[9, 7]");
    places.args[1] = list({number(3)});
    EXPECT_TRUE(eval(places).isUnknown());
}

TEST(Functions, RowsAreSortedSoThatTheyAreFound) {
    auto rows = functionRows();
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return std::string_view(a.name) < b.name;
    }));
    for (const FunctionRow& row : rows)
        EXPECT_EQ(findFunction(row.name), &row);
    EXPECT_EQ(findFunction("nothing"), nullptr);
}

TEST(Functions, Numbers) {
    EXPECT_EQ(eval(call("min", {list({number(3), number(-1)})})).number(), -1);
    EXPECT_EQ(eval(call("max", {number(3), number(5)})).number(), 5);
    EXPECT_EQ(eval(call("prod", {list({number(3), number(4)})})).text(), "12");
    EXPECT_EQ(eval(call("len", {list({number(3), number(4)})})).number(), 2);
    EXPECT_EQ(eval(call("sqrt", {number(16)})).number(), 4);
    EXPECT_EQ(eval(call("ceil", {number(1.5)})).number(), 2);
    EXPECT_EQ(eval(call("last", {list({number(3), number(4)})})).number(), 4);
    EXPECT_EQ(eval(call("range", {number(3)})).text(), "[0, 1, 2]");
    EXPECT_TRUE(eval(call("range", {number(-1)})).isUnknown());
    EXPECT_EQ(
        eval(call("concat", {list({list({number(3)}), list({number(4), number(5)})})})).text(),
        "[3, 4, 5]");
    auto found = [](double key) {
        return eval(call("lookup", {number(key), list({number(1), number(2)}),
                                    list({number(10), number(20)})}))
            .text();
    };
    EXPECT_EQ(found(2), "20");
    EXPECT_EQ(found(3), "none");
    EXPECT_TRUE(eval(call("lookup", {number(1), list({number(1)}), list({})})).isUnknown());
    EXPECT_TRUE(eval(call("nothing", {})).isUnknown());
}

TEST(Functions, ConstantsFold) {
    Rule rule;
    rule.slots = {{"a"}, {"b"}};
    Graph graph;
    ValueId a = graph.addConstant("a", std::make_shared<Tensor>(Tensor::ofFloats({1, 2}, {1, 2})));
    ValueId b = graph.addConstant("b", std::make_shared<Tensor>(Tensor::ofFloats({1, 2}, {3, 4})));
    std::vector<Binding> slots = {Binding::of(a), Binding::of(b)};
    Expression first;
    first.kind = Expression::Kind::Slot;
    Expression second = first;
    second.slot = 1;
    Quantity joined =
        eval(call("concat", {list({first, second})}, {{"axis", number(1)}}), graph, rule, slots);
    ASSERT_TRUE(joined.as<TensorPtr>()) << joined.text();
    EXPECT_EQ((*joined.as<TensorPtr>())->type().text(), "float[1,4]");
    EXPECT_EQ((*joined.as<TensorPtr>())->at(3), 4);
    Quantity turned =
        eval(call("transpose", {first, list({number(1), number(0)})}), graph, rule, slots);
    ASSERT_TRUE(turned.as<TensorPtr>()) << turned.text();
    EXPECT_EQ((*turned.as<TensorPtr>())->type().text(), "float[2,1]");
}

TEST(Functions, Broadcastable) {
    auto fits = [](std::vector<Expression> from, std::vector<Expression> to) {
        return eval(call("broadcastable", {list(std::move(from)), list(std::move(to))})).truth();
    };
    EXPECT_EQ(fits({number(1), number(3)}, {number(2), number(5), number(3)}), Truth::True);
    EXPECT_EQ(fits({number(2)}, {number(3)}), Truth::False);
    EXPECT_EQ(fits({number(2), number(3)}, {number(3)}), Truth::False);
}
