// SPDX-License-Identifier: Apache-2.0
// MatMulNBits: the reference function by hand, and the loops of weights of 4 bits and the product
// of others against it, with every table of this machine.
#include "cpu_integer_support.h"

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

struct Drawn {
    Case operands;
    std::string body;
};

/// Any of the operands that the operator allows, for blocks of `block`.
Drawn drawnProduct(Draw& draw, int64_t block) {
    const int64_t m = draw.from(1, 18), k = draw.from(1, 5 * block / 2), n = draw.from(1, 90);
    const int64_t blocks = (k + block - 1) / block;
    const int64_t others[] = {2, 8};
    const int64_t bits = draw.from(0, 2) > 0 ? 4 : others[draw.from(0, 1)];
    const DType type = draw.from(0, 3) == 0 ? DType::Float16 : DType::Float32;
    auto numbers = [&](const Extents& extents) {
        Tensor floats = weights(extents, static_cast<uint32_t>(draw.from(1, 1 << 20)));
        return stored(floats, type);
    };
    Drawn out;
    Case& x = out.operands;
    x.add("a", numbers({m, k}), false);
    x.add("b", draw.bytes(DType::UInt8, {n, blocks, block * bits / 8}), true);
    x.add("s", numbers({n * blocks}), true);
    const int64_t zero = draw.from(0, 2);
    if (zero == 1)
        x.add("z", draw.bytes(DType::UInt8, {n * ((blocks * bits + 7) / 8)}), true);
    else if (zero == 2)
        x.add("z", numbers({n * blocks}), true);
    out.body = x.body("com.microsoft.MatMulNBits",
                      "<K=" + std::to_string(k) + ",N=" + std::to_string(n) + ",bits=" +
                          std::to_string(bits) + ",block_size=" + std::to_string(block) + ">",
                      type, {m, n});
    return out;
}

void expectAlike(const Drawn& drawn, double tolerance,
                 const std::function<void(ReferenceValue&)>& change = {}) {
    SCOPED_TRACE(drawn.body);
    const LowerRequest request = bodyFrom(drawn.body, drawn.operands.constants);
    const KernelProgram program = programOf(request);
    ASSERT_TRUE(program.body);
    std::vector<ReferenceValue> inputs;
    for (ValueId id : request.body->inputs()) {
        const std::string& name = request.body->value(id).name;
        auto constant = drawn.operands.constants.find(name);
        inputs.push_back(ReferenceValue::from(constant == drawn.operands.constants.end()
                                                  ? drawn.operands.inputs.at(name)
                                                  : constant->second));
    }
    if (change)
        change(inputs[0]);
    ThreadPool threads(1);
    Progress progress;
    auto wanted = interpret(*request.body, inputs, threads, progress);
    ASSERT_TRUE(wanted) << wanted.error().text();
    for (size_t table = 0; table < vectorTableCount(); ++table)
        for (int count : {1, 2}) {
            CpuRun run = runOnCpu(program, inputs, request.constants, testing_cpu::Order::RowMajor,
                                  count, prepareKernel, vectorTable(table));
            SCOPED_TRACE(std::string(vectorTable(table).name) + ": " + run.tactic);
            const bool asFloats = run.tactic.find("weights as floats") != std::string::npos;
            const bool isFour = drawn.body.find("bits=2") == std::string::npos &&
                                drawn.body.find("bits=8") == std::string::npos;
            EXPECT_EQ(run.tactic.find("weights of 4 bits") == 0, isFour);
            EXPECT_EQ(asFloats, !isFour);
            ASSERT_FALSE(run.outputs.empty());
            expectNearLargest(run.outputs[0], (*wanted)[0], tolerance);
        }
}

} // namespace

TEST(CpuBlockedWeights, AnyShapeAndZeroPoint) {
    for (uint32_t seed = 0; seed < 60; ++seed) {
        Draw draw(seed);
        const Drawn drawn = drawnProduct(draw, int64_t{16} << draw.from(0, 4));
        expectAlike(drawn, drawn.body.find("float16") == std::string::npos ? 1e-6 : 1e-3);
        if (HasFailure())
            return;
    }
}

TEST(CpuBlockedWeights, LargeAndSmallElementsInOneRow) {
    // Digits are those of a block's largest element; other blocks keep theirs.
    Draw draw(1);
    Drawn drawn;
    drawn.operands.add("a", weights({3, 96}), false);
    drawn.operands.add("b", draw.bytes(DType::UInt8, {20, 3, 16}), true);
    drawn.operands.add("s", weights({60}, 5), true);
    drawn.body = drawn.operands.body("com.microsoft.MatMulNBits", "<K=96,N=20,block_size=32>",
                                     DType::Float32, {3, 20});
    for (const double scale : {1e-30, 1e30, 1e-42, 0.0})
        expectAlike(drawn, 1e-6, [&](ReferenceValue& a) {
            for (size_t i = 0; i < a.floats.size(); ++i)
                a.floats[i] = roundTo(DType::Float32, a.floats[i] * (i % 96 < 32 ? scale : 1.0));
        });
}

TEST(CpuBlockedWeights, ANumberThatIsNoneReachesItsRow) {
    Draw draw(2);
    Drawn drawn;
    drawn.operands.add("a", weights({2, 32}), false);
    drawn.operands.add("b", draw.bytes(DType::UInt8, {20, 1, 16}), true);
    drawn.operands.add("s", weights({20}, 5), true);
    drawn.body = drawn.operands.body("com.microsoft.MatMulNBits", "<K=32,N=20,block_size=32>",
                                     DType::Float32, {2, 20});
    expectAlike(drawn, 1e-6, [](ReferenceValue& a) { a.floats[5] = NAN; });
}
