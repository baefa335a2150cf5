// SPDX-License-Identifier: Apache-2.0
// LinearRecurrence of any operands that it allows.
#include "core/ops/linear_recurrence.h"
#include "own_operator_support.h"

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

struct DrawnRecurrence {
    Case operands;
    std::string body;
    double tolerance = 1e-5;
    double written = 1e-9; ///< of what it is written out as, which rounds 16 bits at every step
};

/// A Scan over no tokens does not know the sizes of its results, so that what is written out has
/// one at least.
DrawnRecurrence drawnRecurrence(uint32_t seed, int64_t leastTokens) {
    Draw draw(seed);
    const int64_t batch = draw.from(0, 3), heads = draw.from(1, 4), rows = draw.from(0, 3);
    const int64_t tokens = draw.from(leastTokens, 12), depth = draw.from(1, 40),
                  width = draw.from(1, 70);
    const DType types[] = {DType::Float32, DType::Float32, DType::Float16, DType::BFloat16};
    const bool isMixed = draw.coin();
    DType type = types[draw.from(0, 3)];
    DrawnRecurrence out;
    const auto next = [&] {
        type = isMixed ? types[draw.from(0, 3)] : type;
        const double least = type == DType::Float16 ? 4e-2 : type == DType::BFloat16 ? 3e-1 : 0;
        out.tolerance = std::max(out.tolerance, least);
        out.written = std::max({out.written, least, isMixed ? 1e-5 : 0});
        return type;
    };
    const auto numbers = [&](const Extents& extents, double scale, double shift) {
        Tensor floats = weights(extents, static_cast<uint32_t>(draw.from(1, 1 << 20)));
        for (int64_t i = 0; i < floats.elementCount(); ++i) {
            float& number = floats.as<float>()[static_cast<size_t>(i)];
            number = static_cast<float>(number * scale + shift);
        }
        return stored(floats, next());
    };
    // States that neither die nor grow without end.
    const double small = 1 / std::sqrt(static_cast<double>(depth));
    Case& x = out.operands;
    x.add("s", numbers({batch, heads, depth, width}, 1, 0), draw.coin());
    x.add("q", numbers({batch, tokens, heads, rows, depth}, 1, 0), false);
    x.add("k", numbers({batch, tokens, heads, depth, 1}, small, 0), false);
    x.add("v", numbers({batch, tokens, heads, 1, width}, 1, 0), draw.coin());
    const bool hasDecay = draw.coin(), hasRate = draw.coin();
    if (hasDecay)
        x.add("g", numbers({batch, tokens, heads, draw.coin() ? depth : 1, 1}, 0.4, 0.6), false);
    else if (hasRate)
        x.arguments += ", ";
    if (hasRate)
        x.add("b", numbers({batch, tokens, draw.coin() ? heads : 1, 1, 1}, 0.5, 0.5), false);
    out.body = "(" + x.parameters + ") => (" +
               typed(x.typeOf("s"), {batch, heads, depth, width}, "last") + ", " +
               typed(x.typeOf("q"), {batch, tokens, heads, rows, width}, "y") +
               ") { last, y = fuselage.LinearRecurrence(" + x.arguments + ") }";
    return out;
}

constexpr uint32_t recurrenceSeeds = 150;

} // namespace

TEST(LinearRecurrence, LoopsAreTheReference) {
    for (uint32_t seed = 0; seed < recurrenceSeeds && !HasFailure(); ++seed) {
        const DrawnRecurrence drawn = drawnRecurrence(seed, 0);
        SCOPED_TRACE(drawn.body);
        expectLoops({drawn.body, drawn.operands}, "columns of states", drawn.tolerance);
    }
}

TEST(LinearRecurrence, WrittenOutIsTheReference) {
    for (uint32_t seed = 0; seed < recurrenceSeeds && !HasFailure(); ++seed) {
        const DrawnRecurrence drawn = drawnRecurrence(seed, 1);
        SCOPED_TRACE(drawn.body);
        expectWrittenOut({drawn.body, drawn.operands}, drawn.written);
    }
}

TEST(LinearRecurrence, AFileHoldsItAsAFunctionAndGivesItBack) {
    for (uint32_t seed = 0; seed < recurrenceSeeds && !HasFailure(); ++seed) {
        const DrawnRecurrence drawn = drawnRecurrence(seed, 1);
        SCOPED_TRACE(drawn.body);
        expectKeptByFile({drawn.body, drawn.operands}, drawn.written);
    }
}

TEST(LinearRecurrence, OperandsOfOtherTypesAndShapesAreContradictions) {
    for (const char* text :
         {"float[1,2,3,4] s, float[1,5,2,1,3] q, float[1,5,2,3,1] k, float[1,5,2,1,5] v",
          "float[1,2,3,4] s, float[1,5,2,1,3] q, float[1,5,2,1,3] k, float[1,5,2,1,4] v",
          "float[1,2,3,4] s, float[1,5,2,3] q, float[1,5,2,3,1] k, float[1,5,2,1,4] v",
          "float[2,3,4] s, float[1,5,2,1,3] q, float[1,5,2,3,1] k, float[1,5,2,1,4] v",
          "int32[1,2,3,4] s, float[1,5,2,1,3] q, float[1,5,2,3,1] k, float[1,5,2,1,4] v",
          "float[1,2,3,4] s, float[1,5,2,1,3] q, float[1,5,2,3,1] k, float[1,5,2,1,4] v, "
          "float[1,5,2,2,1] g",
          "float[1,2,3,4] s, float[1,5,2,1,3] q, float[1,5,2,3,1] k, float[1,5,2,1,4] v, "
          "float[1,5,2,1,1] g, float[1,1,2,1,1] b"}) {
        std::string names = "s, q, k, v";
        for (const char* name : {" g", " b"})
            if (std::string_view(text).find(name) != std::string_view::npos)
                names += std::string(",") + name;
        SCOPED_TRACE(text);
        auto graph =
            model_io::loadText(std::string("g (") + text +
                               ") => (l, y) { l, y = fuselage.LinearRecurrence(" + names + ") }");
        ASSERT_TRUE(graph) << graph.error().text();
        const auto problems = inferShapes(*graph);
        EXPECT_TRUE(std::any_of(problems.begin(), problems.end(),
                                [](const InferProblem& each) { return !each.warning(); }));
        EXPECT_TRUE(writtenOut(*graph, onlyNode(*graph), false)) << "what is wrong may be written";
    }
}
