// SPDX-License-Identifier: Apache-2.0
// Sequences whose elements are known and loops that compute constants: random ones fold away, and
// what is left computes what the graph did.
#include "core/graph/verify.h"
#include "core/passes/passes.h"
#include "tests/unit/passes_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

using namespace fuselage;
using fuselage::test::parsed;
using fuselage::test::resultsOf;

namespace {

class RandomText {
public:
    explicit RandomText(uint32_t seed) : m_engine(seed) {}

    /// A loop that carries a tensor and a sequence, and says its numbers one by one.
    std::string loop() {
        const int64_t trips = 1 + below(5), inserts = 1 + below(2);
        std::string body = fmt::format("      moved = {}(p, i)\n", pick({"Add", "Sub", "Mul"}));
        body += pick({"      q = Add(moved, k)\n", "      q = Identity(moved)\n",
                      "      q = Identity(p)\n"});
        body += fmt::format("      row0 = Unsqueeze({}, axes)\n", pick({"moved", "i", "p"}));
        body += "      row = Reshape(row0, axes1)\n      s0 = Identity(s)\n";
        for (int64_t n = 0; n < inserts; ++n)
            body += fmt::format("      s{} = SequenceInsert(s{}, row{})\n", n + 1, n,
                                pick({"", ", i", ", zero"}));
        if (below(3) == 0 && inserts == 2) {
            body += fmt::format("      t = SequenceErase(s2{})\n", pick({"", ", zero", ", i"}));
        } else {
            body += fmt::format("      t = Identity(s{})\n", inserts);
        }
        body += fmt::format("      told = {}\n",
                            pick({"Add(p, i)", "Identity(i)", "SequenceLength(t)", "Identity(p)"}));
        body +=
            pick({"      again = Identity(go)\n", "      again = Constant<value = bool {1}> ()\n"});
        return fmt::format(
            "g (float[2] x) => (p1, last, all, length, told1) <int64 zero = {{0}}, int64 back = "
            "{{-1}}, int64 k = {{{}}}, "
            "int64[1] axes = {{0}}, int64[1] axes1 = {{-1}}, int64 trips = {{{}}}, bool yes = "
            "{{1}}>"
            " {{\n   none = SequenceEmpty<dtype = 7> ()\n"
            "   p1, s1, told1 = Loop(trips, {}, k, none) <body = b (int64 i, bool go, p, s) => "
            "(again, q, t, told) {{\n{}   }}>\n"
            "   last = SequenceAt(s1, {})\n   all = ConcatFromSequence<axis = 0, new_axis = "
            "{}>(s1)\n"
            "   length = SequenceLength(s1) }}",
            below(7), trips, pick({"", "yes"}), body, pick({"zero", "back"}), below(2));
    }

    /// A loop of nobody knows how many iterations that appends to sequences, and carries what
    /// nobody reads.
    std::string appends() {
        const int64_t lists = 1 + below(2);
        std::string heads, given, carried, made, results, body, readers, outputs = "v1";
        for (int64_t k = 0; k < lists; ++k) {
            const std::string row = pick({"w", "v", "r", "x", "six"});
            const std::string first = pick({"", row == "x" || row == "six" ? "z" : "two"});
            heads += fmt::format("   e{0} = {1}\n", k,
                                 first.empty()  ? "SequenceEmpty ()"
                                 : first == "z" ? "SequenceConstruct (z6)"
                                                : "SequenceConstruct (two, two)");
            given += fmt::format(", e{}", k);
            carried += fmt::format(", s{}", k);
            made += fmt::format(", t{}", k);
            results += fmt::format(", l{}", k);
            body += fmt::format("      t{0} = SequenceInsert(s{0}, {1})\n", k, row);
            const int64_t rank = row == "x" || row == "six" ? 1 : 2, isNew = below(2);
            const int64_t axis = below(rank + isNew), back = below(2) * (rank + isNew);
            readers +=
                fmt::format("   all{0} = ConcatFromSequence<axis = {1}, new_axis = {2}>(l{0})\n", k,
                            axis - back, isNew);
            outputs += fmt::format(", all{}", k);
            if (below(2) == 0) {
                readers += fmt::format("   n{0} = SequenceLength(l{0})\n", k);
                outputs += fmt::format(", n{}", k);
            }
            if (first.empty() && below(2) == 0) {
                readers +=
                    fmt::format("   at{0} = SequenceAt(l{0}, {1})\n", k, pick({"zero", "back"}));
                outputs += fmt::format(", at{}", k);
            }
        }
        const bool isIdle = below(2) == 0; // two values that only lead to each other
        return fmt::format(
            "g (float[2,3] v0, float[6] z6, int64 trips) => ({}) <int64 zero = {{0}}, int64 back = "
            "{{-1}}, bool yes = {{1}}, float[2,3] two = {{1,2,3,4,5,6}}, int64[1] flat = {{-1}}, "
            "float[2,3] k = {{1,0,2,0,3,0}}> {{\n{}"
            "   v1{}{} = Loop(trips, yes, v0{}{}) <body = b (int64 i, bool go, v{}{}) => "
            "(again, w{}{}) {{\n      w = Add(v, k)\n      r = Mul(w, v)\n"
            "      six = Reshape(r, flat)\n      x = Reshape(v, flat)\n{}{}"
            "      again = Identity(go)\n   }}>\n{} }}",
            outputs, heads, isIdle ? ", a1, b1" : "", results, isIdle ? ", two, v0" : "", given,
            isIdle ? ", a, b" : "", carried, isIdle ? ", c, d" : "", made,
            isIdle ? "      c = Add(b, k)\n      d = Mul(a, v)\n" : "", body, readers);
    }

    /// Of tensors that nobody knows.
    std::string edits() {
        std::string text = "g (float[2] x, float[2] z) => (one, all, length) <int64 zero = {0}, "
                           "int64 back = {-1}, float[2] w = {5, 6}> {\n   s0 = SequenceConstruct("
                           "x, w, z)\n";
        int64_t count = 3;
        const int64_t steps = below(5);
        for (int64_t n = 0; n < steps; ++n) {
            const bool erases = count > 1 && below(2) == 0;
            count += erases ? -1 : 1;
            text += erases ? fmt::format("   s{} = SequenceErase(s{}{})\n", n + 1, n,
                                         pick({"", ", zero", ", back"}))
                           : fmt::format("   s{} = SequenceInsert(s{}, {}{})\n", n + 1, n,
                                         pick({"x", "w", "z"}), pick({"", ", zero", ", back"}));
        }
        return text +
               fmt::format("   one = SequenceAt(s{0}, {1})\n   all = ConcatFromSequence<axis "
                           "= {2}, new_axis = {3}>(s{0})\n   length = SequenceLength(s{0}) }}",
                           steps, pick({"zero", "back"}), -below(2), below(2));
    }

private:
    int64_t below(int64_t bound) {
        return static_cast<int64_t>(m_engine() % static_cast<uint32_t>(bound));
    }

    std::string pick(const std::vector<std::string>& texts) {
        return texts[static_cast<size_t>(below(static_cast<int64_t>(texts.size())))];
    }

    std::mt19937 m_engine;
};

void expectFoldsToTheSame(const std::string& text) {
    SCOPED_TRACE(text);
    Graph given = parsed(text, 21);
    if (given.outputs().empty())
        return;
    std::vector<ReferenceValue> inputs;
    for (size_t i = 0; i < given.inputs().size(); ++i)
        inputs.push_back(ReferenceValue::from(
            Tensor::ofFloats({2}, {static_cast<float>(i) + 1.5F, static_cast<float>(i) - 3})));
    const auto wanted = resultsOf(given, inputs);
    Progress progress;
    auto done = prepareGraph(given, progress);
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_TRUE(verify(given));
    for (NodeId id : given.nodes()) {
        const std::string op = nameOf(given.node(id).op);
        EXPECT_EQ(op.find("Sequence"), std::string::npos) << op;
        EXPECT_NE(op, "Loop");
    }
    const auto made = resultsOf(given, inputs);
    ASSERT_EQ(made.size(), wanted.size());
    for (size_t i = 0; i < made.size(); ++i) {
        EXPECT_EQ(made[i].extents, wanted[i].extents);
        EXPECT_EQ(made[i].ints, wanted[i].ints);
        EXPECT_EQ(made[i].floats, wanted[i].floats);
    }
}

void expectStacks(const std::string& text) {
    SCOPED_TRACE(text);
    Graph given = parsed(text, 17);
    ASSERT_FALSE(given.outputs().empty());
    Graph prepared = given.clone();
    Progress progress;
    auto done = prepareGraph(prepared, progress);
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_TRUE(verify(prepared));
    for (NodeId id : prepared.nodes()) {
        EXPECT_EQ(std::string(nameOf(prepared.node(id).op)).find("Sequence"), std::string::npos)
            << nameOf(prepared.node(id).op);
        if (prepared.node(id).op == Op::Loop) {
            EXPECT_EQ(prepared.node(id).explicitInputs, 3U); // and what nobody reads is gone
        }
    }
    for (const int64_t trips : {1, 2, 5}) {
        Tensor count(DType::Int64, {});
        count.setInt(0, trips);
        const std::vector<ReferenceValue> inputs{
            ReferenceValue::from(Tensor::ofFloats({2, 3}, {1, -2, 3, 0, 5, -1})),
            ReferenceValue::from(Tensor::ofFloats({6}, {7, 8, 9, 10, 11, 12})),
            ReferenceValue::from(count)};
        const auto wanted = resultsOf(given, inputs), made = resultsOf(prepared, inputs);
        ASSERT_EQ(made.size(), wanted.size());
        for (size_t i = 0; i < made.size(); ++i) {
            EXPECT_EQ(made[i].extents, wanted[i].extents);
            EXPECT_EQ(made[i].ints, wanted[i].ints);
            EXPECT_EQ(made[i].floats, wanted[i].floats);
        }
    }
}

} // namespace

TEST(Sequences, LoopsStackWhatTheyAppend) {
    for (uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed)
        expectStacks(RandomText(seed).appends());
}

TEST(Sequences, OtherSequencesOfLoopsStay) {
    for (const char* body :
         {"t = SequenceInsert(s, p, i)",
          "u = SequenceInsert(s, p) t = "
          "SequenceInsert(u, p)",
          "n = SequenceLength(s) f = Cast<to = 1>(n) r = Add(f, p) t = "
          "SequenceInsert(s, r)",
          "t = SequenceErase(s)", "r = Concat<axis = 0>(p, p) t = Identity(s)"}) {
        Graph given =
            parsed(std::string("g (float[2] x, int64 n) => (y, all) { e = "
                               "SequenceConstruct(x, x) y, l = Loop(n, , x, e) <body = b "
                               "(int64 i, bool go, p, s) => (again, q, t) { q = Add(p, p) ") +
                       body +
                       " again = Identity(go) }> all = ConcatFromSequence<axis = "
                       "0>(l) }",
                   17);
        ASSERT_FALSE(given.outputs().empty()) << body;
        Progress progress;
        ASSERT_TRUE(prepareGraph(given, progress)) << body;
        const auto ids = given.nodes();
        EXPECT_TRUE(std::any_of(ids.begin(), ids.end(), [&](NodeId id) {
            return given.node(id).op == Op::ConcatFromSequence;
        })) << body;
    }
}

TEST(Sequences, LoopsOfConstantsFold) {
    for (uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed)
        expectFoldsToTheSame(RandomText(seed).loop());
}

TEST(Sequences, KnownElementsNeedNoSequence) {
    for (uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed)
        expectFoldsToTheSame(RandomText(seed).edits());
}

TEST(Sequences, LoopsThatReadWhatVariesStay) {
    Graph given =
        parsed("g (float[2] x) => (y) <int64 n = {3}> { y = Loop(n, , x) <body = b (int64 "
               "i, bool go, p) => (again, q) { q = Add(p, p) again = Identity(go) }> }",
               21);
    Progress progress;
    ASSERT_TRUE(prepareGraph(given, progress));
    EXPECT_EQ(given.nodeCount(), 1U);
}

TEST(Sequences, LoopsWithOddParametersStay) {
    for (const char* constants : {"int64[0] n = {}, bool go = {1}, bool[0] on = {}",
                                  "int64 n = {2}, bool[0] go = {}, bool "
                                  "on = {1}",
                                  "int64 n = {2}, bool go = {1}, bool[0] on = {}",
                                  "int64 n = {-2}, bool go = {1}, bool on "
                                  "= {1}"}) {
        Graph given = parsed(std::string("g (float[2] x) => (y) <int64 k = {3}, ") + constants +
                                 "> { y = Loop(n, go, k) <body = b (int64 i, bool c, p) => "
                                 "(again, q) { q = Add(p, p) again = Identity(on) }> }",
                             21);
        Progress progress;
        static_cast<void>(prepareGraph(given, progress)); // says what it finds wrong, or nothing
        EXPECT_EQ(given.nodeCount(), 1U) << constants;
    }
}
