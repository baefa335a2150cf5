// SPDX-License-Identifier: Apache-2.0
// Pools of every form against the plain evaluation of their programs: random windows, paddings,
// rounding, orders of memory and types; and that none of them runs by oneDNN's reference loops.
#include "core/cpu/pool.h"
#include "core/kernel/loops.h"
#include "cpu_support.h"

#include <fmt/format.h>

#include <random>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

class PoolMaker {
public:
    explicit PoolMaker(uint32_t seed) : m_random(seed) {}

    int64_t pick(int64_t low, int64_t high) {
        return low + static_cast<int64_t>(m_random() % static_cast<uint32_t>(high - low + 1));
    }

    /// A window that meets at least one element of the operand wherever it stands.
    KernelProgram program() {
        Window window;
        window.kind = static_cast<PoolKind>(pick(0, 3));
        window.p = pick(1, 3);
        Extents in = {pick(1, 3), pick(0, 9) == 0 ? 70 : pick(1, 20)};
        window.space = in;
        for (int64_t d = pick(1, 3); d-- > 0;)
            addDim(window, in);
        const DType type = pick(0, 3) == 0 ? DType::Float16 : DType::Float32;
        KernelProgram out;
        out.inputs = {{type, in}};
        out.outputs = {{type, window.space}};
        TapeBuilder builder;
        Scalar x = builder.input(DType::Float32);
        const bool more = pick(0, 2) == 0;
        x = more ? x * 2.0 + 1.0 : x;
        x = type == DType::Float32 ? x : cast(x, type);
        window.epilogue.tape = builder.finish({x});
        window.epilogue.writes = {identityAccess(0, in.size())};
        out.code = std::move(window);
        return out;
    }

private:
    void addDim(Window& window, Extents& in) {
        const int64_t kernel = pick(1, 6), dilation = pick(1, 2), step = pick(1, 3);
        const int64_t reach = (kernel - 1) * dilation + 1;
        const int64_t extent = pick(reach, reach + (pick(0, 3) == 0 ? 40 : 9));
        const int64_t before = pick(0, (kernel - 1) / 2), after = pick(0, (kernel - 1) / 2);
        const int64_t room = extent + before + after - reach;
        window.window.ceilMode = pick(0, 1) == 1;
        int64_t results = room / step + 1;
        if (window.window.ceilMode && room % step != 0 && results * step < extent + before)
            ++results;
        window.window.kernel.push_back(kernel);
        window.window.dilations.push_back(dilation);
        window.window.strides.push_back(step);
        window.window.padsBegin.push_back(before);
        window.window.padsEnd.push_back(after);
        in.push_back(extent);
        window.space.push_back(results);
    }

    std::mt19937 m_random;
};

ReferenceValue valuesOf(const OperandType& type, uint32_t seed) {
    Tensor data = weights(type.extents, seed);
    Tensor out(type.dtype, type.extents);
    for (int64_t i = 0; i < out.elementCount(); ++i)
        out.set(i, data.at(i));
    return ReferenceValue::from(out);
}

/// Adds the tactics that it met.
void expectPools(const KernelProgram& program, uint32_t seed, std::string& tactics) {
    const std::vector<ReferenceValue> inputs = {valuesOf(program.inputs[0], seed)};
    auto wanted = evaluate(program, inputs);
    ASSERT_TRUE(wanted) << wanted.error().text();
    for (Order order : {Order::RowMajor, Order::ChannelsLast}) {
        CpuRun one = runOnCpu(program, inputs, {}, order, 1);
        CpuRun two = runOnCpu(program, inputs, {}, order, 2);
        SCOPED_TRACE(fmt::format("{} of pool {}\n{}", one.tactic, seed, text(program)));
        ASSERT_EQ(one.outputs.size(), 1U);
        tactics += one.tactic + "\n";
        EXPECT_EQ(one.bytes, two.bytes) << "one and two threads differ";
        EXPECT_EQ(one.tactic.find("ref"), std::string::npos);
        EXPECT_EQ(one.tactic.find("simple"), std::string::npos);
        const bool narrow = program.outputs[0].dtype != DType::Float32;
        expectNear(one.outputs[0], wanted->outputs[0], narrow ? 2e-3 : 4e-6);
    }
}

} // namespace

TEST(CpuPool, RandomWindows) {
    std::string tactics;
    for (uint32_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed)
        expectPools(PoolMaker(seed).program(), seed, tactics);
    for (const char* way : {"onednn jit", "pooled rows", "pooled pixels"})
        EXPECT_NE(tactics.find(way), std::string::npos) << way;
}

namespace {

/// What stands around the largest of stored integers.
enum class Around : uint8_t { Nothing, SameScale, OtherScale, NegativeScale };

KernelProgram storedProgram(PoolMaker& maker, Around around) {
    KernelProgram out = maker.program();
    auto& window = std::get<Window>(out.code);
    window.kind = PoolKind::Max;
    const DType type = maker.pick(0, 1) == 0 ? DType::Int8 : DType::UInt8;
    const double scale = around == Around::NegativeScale ? -0.3 : 0.3, zero = 3;
    TapeBuilder before, after;
    Scalar y = after.input(around == Around::Nothing ? type : DType::Float32);
    if (around != Around::Nothing) {
        Scalar x = cast(before.input(type), DType::Float32);
        window.prologue = Prologue{{}, before.finish({(x - zero) * scale})};
        y = y / (around == Around::OtherScale ? 0.7 : scale);
        y = after.apply(TapeOp::RoundEven, DType::Float32, {y}) + zero;
        const double low = type == DType::Int8 ? -128 : 0;
        y = after.apply(TapeOp::Max, y.type(), {y, after.constant(y.type(), low)});
        y = after.apply(TapeOp::Min, y.type(), {y, after.constant(y.type(), low + 255)});
        y = cast(y, type);
    }
    window.epilogue.tape = after.finish({y});
    out.inputs[0].dtype = out.outputs[0].dtype = type;
    return out;
}

ReferenceValue storedValues(const OperandType& type, PoolMaker& maker) {
    Tensor out(type.dtype, type.extents);
    const int64_t low = type.dtype == DType::Int8 ? -128 : 0;
    for (int64_t i = 0; i < out.elementCount(); ++i)
        out.set(i, static_cast<double>(maker.pick(low, low + 255)));
    return ReferenceValue::from(out);
}

} // namespace

TEST(CpuPool, TheLargestOfStoredIntegersIsPooledAsIntegers) {
    for (uint32_t seed = 1; seed <= 160 && !::testing::Test::HasFailure(); ++seed) {
        PoolMaker maker(seed);
        const auto around = static_cast<Around>(seed % 4);
        const KernelProgram program = storedProgram(maker, around);
        const std::vector<ReferenceValue> inputs = {storedValues(program.inputs[0], maker)};
        auto wanted = evaluate(program, inputs);
        ASSERT_TRUE(wanted) << wanted.error().text();
        for (Order order : {Order::RowMajor, Order::ChannelsLast}) {
            CpuRun one = runOnCpu(program, inputs, {}, order, 1);
            CpuRun two = runOnCpu(program, inputs, {}, order, 2);
            SCOPED_TRACE(fmt::format("{} of pool {}\n{}", one.tactic, seed, text(program)));
            ASSERT_EQ(one.outputs.size(), 1U);
            EXPECT_EQ(one.bytes, two.bytes) << "one and two threads differ";
            expectNear(one.outputs[0], wanted->outputs[0], 0);
            const bool direct = around == Around::Nothing || around == Around::SameScale;
            EXPECT_EQ(one.tactic.find("tile interpreter") == std::string::npos, direct);
            if (around != Around::NegativeScale)
                EXPECT_NE(one.tactic.find("integers"), std::string::npos);
        }
    }
}

namespace {

KernelResult prepareExactly(const KernelProgram& program, const PrepareContext& context) {
    PrepareContext strict = context;
    strict.allowed = NumericClass::Exact;
    return prepareKernel(program, strict);
}

} // namespace

TEST(CpuPool, ShortRowsAreNotWalkedOneByOne) {
    KernelProgram program = PoolMaker(1).program();
    program.inputs = {{DType::Float32, {2, 20, 6, 2}}};
    program.outputs = {{DType::Float32, {2, 20, 3, 1}}};
    auto& window = std::get<Window>(program.code);
    window.kind = PoolKind::Max;
    window.space = program.outputs[0].extents;
    window.window = {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false};
    TapeBuilder builder;
    window.epilogue.tape = builder.finish({builder.input(DType::Float32)});
    window.epilogue.writes = {identityAccess(0, 4)};
    const std::vector<ReferenceValue> inputs = {valuesOf(program.inputs[0], 1)};
    const auto wanted = evaluate(program, inputs);
    ASSERT_TRUE(wanted) << wanted.error().text();
    for (Prepare prepare : {static_cast<Prepare>(prepareKernel), prepareExactly}) {
        CpuRun run = runOnCpu(program, inputs, {}, Order::RowMajor, 1, prepare);
        EXPECT_EQ(run.tactic.find("pooled rows"), std::string::npos) << run.tactic;
        expectNear(run.outputs[0], wanted->outputs[0], 0);
    }
}

/// Few channels of pixels that lie apart: a part of wider ones.
TEST(CpuPool, FewChannelsOfWiderPixelsAreCopied) {
    const KernelProgram program = [] {
        KernelProgram out = PoolMaker(1).program();
        out.inputs = {{DType::Float32, {2, 3, 16, 16}}};
        out.outputs = {{DType::Float32, {2, 3, 8, 8}}};
        auto& window = std::get<Window>(out.code);
        window.kind = PoolKind::Max;
        window.space = out.outputs[0].extents;
        window.window = {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false};
        TapeBuilder builder;
        window.epilogue.tape = builder.finish({builder.input(DType::Float32)});
        window.epilogue.writes = {identityAccess(0, 4)};
        return out;
    }();
    Threads threads(1);
    const Extents &from = program.inputs[0].extents, &to = program.outputs[0].extents;
    const PrepareContext context{{{DType::Float32, from, {7 * 256, 1, 7 * 16, 7}, nullptr}},
                                 {{DType::Float32, to, channelsLast(to), nullptr}},
                                 vectorTable(),
                                 threads};
    const KernelResult kernel = prepareKernel(program, context);
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_EQ((*kernel)->tactic.find("pooled pixels"), std::string::npos) << (*kernel)->tactic;
}

TEST(CpuPool, EmptyBatch) {
    PoolMaker maker(3);
    KernelProgram program = maker.program();
    auto& window = std::get<Window>(program.code);
    window.space[0] = program.inputs[0].extents[0] = program.outputs[0].extents[0] = 0;
    CpuRun run = runOnCpu(program, {valuesOf(program.inputs[0], 1)}, {});
    EXPECT_TRUE(run.bytes[0].empty());
}

TEST(CpuPool, NaNsWinAndInfinitiesStay) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    SlidingWindow window{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false};
    for (size_t i = 0; i < 2 * vectorTableCount(); ++i) {
        const bool last = i % 2 == 1;
        const Extents extents = {1, 17, 4, 4};
        const Extents strides = last ? channelsLast(extents) : rowMajorStrides(extents);
        std::vector<float> x(17 * 16, -inf), y(x.size());
        x[static_cast<size_t>(3 * strides[1] + strides[2] + strides[3])] = nan;
        Threads threads(1);
        PrepareContext context{{}, {}, vectorTable(i / 2), threads};
        auto pool =
            makeVectorPool(PoolKind::Max, window, extents, strides, extents, strides, context);
        ASSERT_NE(pool, nullptr);
        pool->run(reinterpret_cast<const std::byte*>(x.data()),
                  reinterpret_cast<std::byte*>(y.data()), nullptr);
        auto at = [&](int64_t c, int64_t h, int64_t w) {
            return y[static_cast<size_t>(c * strides[1] + h * strides[2] + w * strides[3])];
        };
        EXPECT_TRUE(std::isnan(at(3, 0, 0)) && std::isnan(at(3, 2, 2)));
        EXPECT_EQ(at(3, 3, 3), -inf);
        EXPECT_EQ(at(4, 1, 1), -inf);
    }
}

TEST(CpuPool, WindowsOfAbsurdSizeAreRefused) {
    const int64_t far = int64_t{1} << 40;
    SlidingWindow window{{2, 2}, {1, far}, {1, 1}, {0, far}, {0, far}, false};
    Threads threads(1);
    PrepareContext context{{}, {}, vectorTable(), threads};
    const Extents in = {1, 1, 4, 4}, out = {1, 1, 3, 3};
    EXPECT_EQ(makeVectorPool(PoolKind::Max, window, in, rowMajorStrides(in), out,
                             rowMajorStrides(out), context),
              nullptr);
}
