// SPDX-License-Identifier: Apache-2.0
// Row kernels whose rows are few, long, or cut by operands of some of their dimensions: the same
// bits for any number of threads, whichever way tiles are laid.
#include "cpu_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

/// The form in which exporters write it: normalised in [N, groups, -1], then scaled per channel.
std::string groupNorm(int images, int channels, int groups, int length) {
    return fmt::format(
        "(float[{0},{1},{3}] x, float[{2}] one, float[{2}] zero, float[{1},1] w, float[{1},1] b) "
        "=> (float[{0},{1},{3}] y) {{ g = Constant<value_ints=[{0},{2},{4}]>() "
        "c = Constant<value_ints=[{0},{1},{3}]>()  r = Reshape(x, g) "
        "i = InstanceNormalization(r, one, zero)  n = Reshape(i, c)  m = Mul(n, w) "
        "y = Add(m, b) }}",
        images, channels, groups, length, channels / groups * length);
}

/// One thread has blocks of its own; several share rows where there are few.
void expectAnyThreadCount(const std::string& text, double tolerance = 2e-6) {
    LowerRequest request = bodyFrom(text);
    expectRuns(request, "Row", tolerance);
    KernelProgram program = programOf(request);
    const std::vector<ReferenceValue> inputs = inputsFor(request);
    for (Order order : {Order::RowMajor, Order::ChannelsLast}) {
        const CpuRun one = runOnCpu(program, inputs, request.constants, order, 1);
        for (int threads : {3, 16})
            EXPECT_EQ(one.bytes, runOnCpu(program, inputs, request.constants, order, threads).bytes)
                << threads << " threads\n"
                << text;
    }
}

} // namespace

TEST(CpuLongRow, OneGroupOfManyChannels) {
    for (auto [channels, length] : {std::pair{6, 8599}, {48, 1344}, {48, 1021}, {768, 33}, {3, 5}})
        expectAnyThreadCount(groupNorm(1, channels, 1, length), 2e-5);
}

TEST(CpuLongRow, SeveralGroupsAndImages) {
    expectRuns(groupNorm(3, 24, 1, 336), "Row", 2e-5);
    expectRuns(groupNorm(5, 6, 1, 336), "Row", 2e-5);
    expectRuns(groupNorm(2, 48, 4, 100), "Row", 2e-5);
    expectRuns(groupNorm(70, 20, 5, 7), "Row", 2e-5);
}

/// Results of two dimensions lie row after row whatever the order of the others is.
TEST(CpuLongRow, WrittenAlongAnotherLoopThanRead) {
    const std::string norm = "m = ReduceMean<axes=[1,2]>(x)  d = Sub(x, m)  e = Mul(d, w)";
    for (const char* shape : {"48,1021", "768,33", "5,40", "1021,48"})
        expectAnyThreadCount(
            fmt::format("(float[1,{0}] x, float[{1},1] w) => (float[{0}] y) {{ {2} "
                        "s = Constant<value_ints=[{0}]>()  y = Reshape(e, s) }}",
                        shape, std::string(shape).substr(0, std::string(shape).find(',')), norm),
            2e-5);
    expectAnyThreadCount("(float[48,1021] x) => (float[1,48,1021] y) "
                         "{ s = Constant<value_ints=[1,48,1021]>()  r = Reshape(x, s) "
                         "m = ReduceMean<axes=[1,2]>(r)  y = Sub(r, m) }",
                         2e-5);
}

TEST(CpuLongRow, FewRowsAreSharedBetweenThreads) {
    for (int rows : {1, 2, 3})
        for (const char* what :
             {"y = Softmax(x)", "y = LogSoftmax(x)", "m = ReduceMax<axes=[1]>(x)  y = Sub(x, m)",
              "m = ReduceMin<axes=[1]>(x)  y = Sub(x, m)",
              "e = Tanh(x)  p = ReduceProd<axes=[1]>(e)  y = Add(x, p)"})
            expectAnyThreadCount(
                fmt::format("(float[{0},50001] x) => (float[{0},50001] y) {{ {1} }}", rows, what));
    expectAnyThreadCount("(float[1,70000] x, float[70000] g, float[70000] b) => "
                         "(float[1,70000] y) { y = LayerNormalization(x, g, b) }",
                         2e-5);
    expectAnyThreadCount("(float[2,70000] x) => (float[2] y) "
                         "{ y = ReduceL2<axes=[1],keepdims=0>(x) }",
                         2e-5);
}

TEST(CpuLongRow, OtherTypesOfSums) {
    expectAnyThreadCount("(int64[1,40000] x) => (int64[1,1] y) { y = ReduceSum<keepdims=1>(x) }");
    expectAnyThreadCount("(double[1,40000] x) => (double[1,40000] y) { y = Softmax(x) }", 1e-14);
    expectAnyThreadCount("(float16[1,40000] x) => (float16[1,40000] y) { y = Softmax(x) }", 2e-3);
}

TEST(CpuLongRow, AcrossAFewRows) {
    expectAnyThreadCount("(float[30000,3] x) => (float[30000,3] y) { y = Softmax<axis=0>(x) }");
    expectAnyThreadCount("(float[9000,2,10] x) => (float[1,2,10] y) "
                         "{ y = ReduceMean<axes=[0]>(x) }",
                         2e-5);
}

TEST(CpuLongRow, PositionsCountThroughTheWholeRow) {
    expectAnyThreadCount("(float[1,60000] x) => (int64[1,1] y) { y = ArgMax<axis=1>(x) }");
    expectAnyThreadCount("(float[2,60000] x) => (int64[2,1] y) "
                         "{ y = ArgMin<axis=1,select_last_index=1>(x) }");
}

TEST(CpuLongRow, ReducedDimensionsThatDoNotMerge) {
    expectRuns(
        "(float[4,30,7] x, float[30,1] s) => (float[4,1,1] y) "
        "{ m = Mul(x, s)  a = Constant<value_ints=[1,2]>()  y = ReduceSum<keepdims=1>(m, a) }",
        "Row", 2e-5);
    expectRuns("(float[300,5,6,3] x, float[5,1,3] s) => (float[300,5,6,3] y) "
               "{ m = Mul(x, s)  a = ReduceMax<axes=[1,2,3]>(m)  y = Sub(m, a) }",
               "Row", 2e-5);
    expectRuns("(float[2,500,9,16] x, float[500,1,1] s) => (float[1,1,9,1] y) "
               "{ m = Mul(x, s)  y = ReduceMax<axes=[0,1,3]>(m) }",
               "Row", 2e-5);
}

// --- what a stage computes is kept for those behind it ---------------------------------------

/// Rows of one tile, of several, of more than what is kept, and across rows.
TEST(CpuKeptRow, ValuesThatLaterStagesNeedAgain) {
    const std::string masked = "c = Constant<value_float=-1e9>()  a = Where(k, x, c) ";
    for (const char* shape : {"2,3,8,8|2,1,8,8", "2,3,5,33|1,1,5,33", "1,2,3,1500|1,1,3,1500",
                              "1,2,1,50001|1,1,1,50001", "3,4,2,70000|1,1,2,70000"}) {
        const std::string both = shape, x = both.substr(0, both.find('|')),
                          mask = both.substr(both.find('|') + 1);
        expectAnyThreadCount(fmt::format("(float[{0}] x, bool[{1}] k) => (float[{0}] y) {{ {2} "
                                         "y = Softmax(a) }}",
                                         x, mask, masked));
        expectAnyThreadCount(fmt::format("(float[{0}] x, bool[{1}] k) => (float[{0}] y) {{ {2} "
                                         "y = Softmax<axis = 1>(a) }}",
                                         x, mask, masked));
    }
}

TEST(CpuKeptRow, ValuesThatAreResultsOfAStageToo) {
    for (const char* shape : {"7,40", "3,5000", "300,3", "2,90000"})
        for (const char* what :
             {"e = Exp(x)  s = ReduceSum(e, a)  y = Div(e, s)",
              "t = Tanh(x)  s = ReduceMax<axes = [1]>(t)  q = Mul(t, t)  n = ReduceSum(q, a) "
              "d = Sub(t, s)  p = Div(s, n)  y = Add(d, p)"})
            expectAnyThreadCount(fmt::format("(float[{0}] x) => (float[{0}] y) "
                                             "{{ a = Constant<value_ints = [1]>()  {1} }}",
                                             shape, what),
                                 2e-5);
}

/// A widened input has no place of its own to be made in: it is copied there.
TEST(CpuKeptRow, ValuesThatLieWhereAnInputLies) {
    for (const char* shape : {"6,33", "2,4000"})
        expectAnyThreadCount(
            fmt::format("(float16[{0}] x) => (float16[{0}] y) {{ f = Cast<to = 1>(x) "
                        "m = ReduceMean<axes = [1]>(f)  d = Sub(f, m)  e = Exp(d)  "
                        "n = ReduceMax<axes = [1]>(e)  q = Div(e, n)  y = Cast<to = 10>(q) }}",
                        shape),
            2e-3);
}

TEST(CpuRowBlocks, RowsOfWhichOnlyResultsAreWantedGoByHundreds) {
    for (const char* shape : {"301,96", "150,384", "140,700", "3,1500", "7,45,20"})
        for (const char* what : {"ReduceMax(x, a)", "ReduceL2(x, a)", "ArgMax<axis = -1>(x)"}) {
            const bool isArg = what[0] == 'A';
            expectAnyThreadCount(
                fmt::format("(float[{}] x) => ({}[{}1] y) {{ a = Constant<value_ints = [-1]>() "
                            "r = {}  y = Abs(r) }}",
                            shape, isArg ? "int64" : "float",
                            std::string(shape).substr(0, std::string(shape).rfind(',') + 1), what),
                2e-5);
        }
}

TEST(CpuRowBlocks, FewOrManyRowsThatLieAcross) {
    for (const char* shape : {"50,1", "50,2", "40,6", "33,12", "9,31", "100,200", "20,3000"})
        expectAnyThreadCount(fmt::format("(float[{0}] x) => (float[{0}] y) {{ a = Constant<"
                                         "value_ints = [0]>()  m = ReduceMean(x, a)  "
                                         "y = Sub(x, m) }}",
                                         shape),
                             2e-5);
    // Of several loops, along one of which an operand does not move.
    expectAnyThreadCount("(float[250,33,32] x, float[32] w) => (float[250,33,32] y) { "
                         "z = Mul(x, w)  m = ReduceMax<axes = [0]>(z)  y = Add(z, m) }",
                         2e-5);
}

/// Of more rows of elements than are folded before they are widened, and in parts.
TEST(CpuRowBlocks, TilesAcrossAreWidenedSomeAtATime) {
    for (const char* shape : {"64,24", "65,24", "129,1000", "200,40", "700,1030", "40,25,13"})
        for (const char* what :
             {"ReduceMean(x, a)", "ReduceProd(x, a)", "ReduceMax(x, a)", "ReduceMin(x, a)"})
            for (const char* type : {"float", "double", "int64"}) {
                const bool isProduct = std::string(what).find("Prod") != std::string::npos;
                const bool isInteger = type[0] == 'i';
                if (isInteger && (isProduct || std::string(what).find("Mean") != std::string::npos))
                    continue;
                expectAnyThreadCount(
                    fmt::format("({0}[{1}] x) => ({0}[{1}] y) {{ a = Constant<value_ints = [0]>() "
                                "m = {2}  y = Add(x, m) }}",
                                type, shape, what),
                    2e-5);
            }
}

/// Turns of the loop around rows that lie across are tiles as they lie in memory.
TEST(CpuRowBlocks, DensePlanes) {
    for (const char* shape : {"50,12,8", "7,5,24,3", "33,2,9", "9,40,12", "3,2,31,5,4"}) {
        const std::string dims = shape;
        const auto rank = std::count(dims.begin(), dims.end(), ',') + 1;
        for (const char* what : {"m = ReduceMean(x, a)  y = Sub(x, m)",
                                 "m = ReduceMax(x, a)  e = Tanh(x)  y = Mul(e, m)"})
            expectAnyThreadCount(
                fmt::format("(float[{0}] x) => (float[{0}] y) {{ a = Constant<value_ints = [{1}]>()"
                            "  {2} }}",
                            shape, rank - 2, what),
                2e-5);
        for (const char* what : {"ArgMax", "ArgMin"}) {
            std::string kept = dims;
            kept.replace(kept.rfind(',', kept.rfind(',') - 1) + 1,
                         kept.rfind(',') - kept.rfind(',', kept.rfind(',') - 1) - 1, "1");
            expectAnyThreadCount(fmt::format("(float[{0}] x) => (int64[{1}] y) {{ y = {2}<axis = "
                                             "{3}>(x) }}",
                                             shape, kept, what, rank - 2));
        }
        expectAnyThreadCount(
            fmt::format("(float[{0}] x) => (float[{0}] y) {{ y = Softmax<axis = {1}>(x) }}", shape,
                        rank - 2),
            2e-5);
    }
}

/// Rows of one tile in blocks of many, whose values are kept for each tile.
TEST(CpuRowBlocks, ManyShortRowsInABlock) {
    for (const char* shape : {"301,96", "150,384", "77,1000", "5,1024", "7,45,20"})
        for (const char* what : {"y = Softmax(x)", "m = ReduceMean(x, a)  y = Sub(x, m)",
                                 "m = ReduceMax(x, a)  e = Tanh(x)  n = ReduceMean(e, a) "
                                 "s = Sub(e, m)  y = Add(s, n)"})
            expectAnyThreadCount(fmt::format("(float[{0}] x) => (float[{0}] y) {{ "
                                             "a = Constant<value_ints = [-1]>()  {1} }}",
                                             shape, what),
                                 2e-5);
}

/// Integers that are floats on their way: all of them, or only in what is written, since a stage
/// reads them as they are.
TEST(CpuRowBlocks, StoredIntegers) {
    const std::string scale = "s = Constant<value_float = 0.0625>() ";
    constexpr const char* quantise = "z = Cast<to = {0}>(k) y = QuantizeLinear(d, s, z) ";
    const auto text = [&](const char* shape, std::string_view in, const std::string& what,
                          const char* out, int type) {
        return fmt::format("({0}[{2}] x) => ({1}[{2}] y, float[{2}] d) {{ "
                           "a = Constant<value_ints = [-1]>() k = Constant<value_int = 3>() {3}{4}"
                           "d = Sub(f, m) {5} }}",
                           in, out, shape, scale, what, fmt::format(quantise, type));
    };
    const std::string floats = "h = Mul(x, k16) f = Round(h) m = ReduceMax(f, a) ";
    const std::string stored = "f = DequantizeLinear(x, s) m = ReduceMax(f, a) ";
    const std::string both = "f = Cast<to = 1>(x) r = ReduceMax(x, a) m = Cast<to = 1>(r) ";
    for (const char* shape : {"301,96", "5,1500", "7,45,20", "2,3,5", "33,40"})
        for (const auto& [out, type] : {std::pair{"int8", 3}, {"uint8", 2}}) {
            expectRuns(
                text(shape, "float", "k16 = Constant<value_float = 16.0>() " + floats, out, type),
                "Row", 0);
            for (const char* in : {"int8", "uint8", "int32"})
                expectRuns(text(shape, in, both, out, type), "Row", 0);
            for (const char* in : {"int8", "uint8"})
                expectRuns(text(shape, in, stored, out, type), "Row", 0);
        }
}

/// The sum of negative zeros is zero, whichever way they are folded.
TEST(CpuRowBlocks, SumsBeginWithZero) {
    for (const char* shape : {"4,50", "80,50", "50,4,8"}) {
        const LowerRequest request = bodyFrom(
            fmt::format("(float[{0}] x) => (float[{0}] y) {{ a = Constant<value_ints = [{1}]>() "
                        "s = ReduceSum(x, a)  y = Add(x, s) }}",
                        shape, shape[0] == '5' ? 1 : 0));
        std::vector<ReferenceValue> inputs = inputsFor(request);
        for (double& x : inputs[0].floats)
            x = -0.0;
        const CpuRun run =
            runOnCpu(programOf(request), inputs, request.constants, Order::RowMajor, 1);
        for (double y : run.outputs[0].floats)
            ASSERT_FALSE(std::signbit(y)) << shape;
    }
}
