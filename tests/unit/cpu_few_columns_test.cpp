// SPDX-License-Identifier: Apache-2.0
// Products of few columns: which of their epilogues are a pass of their own.
#include "cpu_support.h"

#include <fmt/format.h>

#include <tuple>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

bool runsOnTiles(const CpuRun& run) {
    return run.tactic.find("tile interpreter") != std::string::npos;
}

} // namespace

TEST(CpuFewColumns, FunctionsRunOnTiles) {
    for (const char* function : {"Tanh", "Sigmoid", "Elu"})
        for (int columns : {1, 3}) {
            const std::string n = std::to_string(columns), call = std::string(function) + "(s) }";
            const std::map<std::string, Tensor> constants = {{"w", weights({9, columns})},
                                                             {"b", weights({columns}, 2)}};
            CpuRun run = expectRuns("(float[2,33,9] x, float[9," + n + "] w, float[" + n +
                                        "] b) => (float[2,33," + n +
                                        "] y) { m = MatMul(x, w)  s = Add(m, b)  y = " + call,
                                    "Contraction", 5e-5, constants);
            EXPECT_TRUE(runsOnTiles(run)) << function << n << ": " << run.tactic;
            run = expectRuns("(float[1,9,40] x, float[" + n + ",9,7] w) => (float[1," + n +
                                 ",40] y) { s = Conv<pads=[3,3]>(x, w)  y = " + call,
                             "Contraction", 5e-5, {{"w", weights({columns, 9, 7})}});
            EXPECT_TRUE(runsOnTiles(run)) << function << n << ": " << run.tactic;
        }
    // Cheap ones too where there are enough results, and dear ones of half a vector.
    for (const auto& [rows, columns, call, isPass] : {std::tuple(66, 1, "Relu(m)", false),
                                                      {900, 1, "HardSwish(m)", true},
                                                      {16, 1, "HardSwish(m)", false},
                                                      {900, 1, "Add(m, r)", true},
                                                      {900, 5, "Tanh(m)", true},
                                                      {900, 12, "Tanh(m)", false},
                                                      {900, 5, "Add(m, r)", false}}) {
        const CpuRun run = expectRuns(
            fmt::format("(float[{0},9] x, float[9,{1}] w, float[{0},{1}] r) => (float[{0},{1}] y) "
                        "{{ m = MatMul(x, w)  y = {2} }}",
                        rows, columns, call),
            "Contraction", 5e-5, {{"w", weights({9, columns})}});
        EXPECT_EQ(runsOnTiles(run), isPass) << rows << " of " << columns << ", " << call;
    }
}

/// The sums are a result themselves, and another one is made of them: neither takes the other's
/// place, whatever the order and wherever groups of lanes end.
TEST(CpuFewColumns, SumsAndWhatIsMadeOfThem) {
    for (const auto& [rows, columns] : {std::pair(3, 5), {64, 16}, {900, 1}})
        for (const char* first : {"m", "y"}) {
            const std::string size = fmt::format("float[{},{}] ", rows, columns);
            const std::string other = *first == 'm' ? "y" : "m";
            for (const char* call : {"Relu(m)", "Tanh(m)"})
                expectRuns(fmt::format("(float[{},9] x, float[9,{}] w) => ({}{}, {}{}) "
                                       "{{ m = MatMul(x, w)  y = {} }}",
                                       rows, columns, size, first, size, other, call),
                           "Contraction", 5e-5, {{"w", weights({9, columns})}});
        }
}
