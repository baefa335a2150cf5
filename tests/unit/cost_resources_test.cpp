// SPDX-License-Identifier: Apache-2.0
// Registers that are predicted from tapes, and what a kernel that needs too many is predicted to
// lose.
#include "core/cost/resources.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

Access contiguous(uint32_t operand) {
    return {operand, {{0, {{0, 1}}}}};
}

/// The sum of `inputs` vectors; with `crossed` each is read again, in the order of the first time,
/// so that all of them stay alive.
KernelProgram sumOf(size_t inputs, bool crossed) {
    constexpr int64_t length = 1 << 22;
    TapeBuilder tape;
    std::vector<Scalar> values;
    Pointwise code;
    KernelProgram out;
    for (uint32_t i = 0; i < inputs; ++i) {
        values.push_back(tape.input(DType::Float32));
        code.reads.push_back(contiguous(i));
        out.inputs.push_back({DType::Float32, {length}});
    }
    Scalar sum = values[0];
    for (size_t i = 1; i < inputs; ++i)
        sum = sum + values[i];
    for (size_t i = 0; crossed && i < inputs; ++i)
        sum = sum * values[i];
    code.space = {length};
    code.tape = tape.finish({sum});
    code.writes.push_back(contiguous(0));
    out.outputs.push_back({DType::Float32, {length}});
    out.code = std::move(code);
    return out;
}

} // namespace

TEST(Resources, AValueLivesFromWhereItIsMadeToItsLastReader) {
    TapeBuilder tape;
    const Scalar a = tape.input(DType::Float32), b = tape.input(DType::Float32);
    const Scalar c = tape.input(DType::Float32);
    const Tape sum = tape.finish({(a + b) + c});
    EXPECT_EQ(liveRegisters(sum, true), 4);  // three operands and the first sum
    EXPECT_EQ(liveRegisters(sum, false), 4); // inputs stand in front of the tape

    TapeBuilder wide;
    const Scalar x = wide.input(DType::Int64);
    EXPECT_EQ(liveRegisters(wide.finish({x + x}), true), 4); // two registers each

    TapeBuilder numbers;
    const Scalar y = numbers.input(DType::Float32);
    EXPECT_EQ(liveRegisters(numbers.finish({y * 3.0 + 1.0}), true), 2); // no constant holds one
}

TEST(Resources, OperandsAndLiveValuesAddRegisters) {
    const auto found = deviceProfile("h200");
    ASSERT_TRUE(found);
    const DeviceProfile& profile = *found;
    int before = 0;
    for (size_t inputs : {1, 2, 4, 8, 16}) {
        const int now = predictResources(sumOf(inputs, false), profile).registers;
        EXPECT_GT(now, before);
        before = now;
    }
    EXPECT_EQ(predictResources(sumOf(16, false), profile).spilledBytes, 0);
    EXPECT_EQ(occupancyOf(predictResources(sumOf(1, false), profile), profile), 1);
    EXPECT_LT(occupancyOf(predictResources(sumOf(24, false), profile), profile), 0.5);
}

TEST(Resources, WhatDoesNotFitIsStoredAndLoadedAgain) {
    const auto found = deviceProfile("h200");
    ASSERT_TRUE(found);
    const DeviceProfile& profile = *found;
    const KernelProgram fits = sumOf(24, true), spills = sumOf(120, true);
    EXPECT_EQ(predictResources(fits, profile).spilledBytes, 0);
    const KernelResources needs = predictResources(spills, profile);
    EXPECT_GT(needs.registers, mostRegisters);
    EXPECT_EQ(needs.spilledBytes, 4 * (needs.registers - mostRegisters));
    // More than in proportion to the bytes that both move.
    auto seconds = [&](const KernelProgram& program) {
        return predictTime(program, predictTraffic(program, profile, {}), profile).seconds;
    };
    const double bytes =
        double(logicalTraffic(spills).logical()) / double(logicalTraffic(fits).logical());
    EXPECT_GT(seconds(spills), seconds(fits) * bytes * 1.1);
    // A processor has no such limit.
    auto cpu = deviceProfile("cpu_avx2");
    ASSERT_TRUE(cpu);
    const double ratio = predictTime(spills, predictTraffic(spills, *cpu, {}), *cpu).seconds /
                         predictTime(fits, predictTraffic(fits, *cpu, {}), *cpu).seconds;
    EXPECT_LT(ratio, bytes * 1.05);
}
