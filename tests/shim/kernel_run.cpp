// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/kernel_run.h"

#include "gpu/emit/packed_constant.h"
#include "tests/shim/tensor_map.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fuselage::gpu_suite {

namespace {

/// Elements that lie between the first and the last one of an operand.
int64_t spanOf(const gpu::OperandLayout& layout) {
    int64_t last = 0;
    for (size_t d = 0; d < layout.extents.size(); ++d)
        last += (layout.extents[d] - 1) * layout.strides[d];
    return *elementCount(layout.extents) == 0 ? 0 : last + 1;
}

/// Calls body(row-major number, element offset) for every element.
template <typename Body> void forEachElement(const gpu::OperandLayout& layout, Body&& body) {
    const int64_t count = *elementCount(layout.extents);
    for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i, offset = 0;
        for (size_t d = layout.extents.size(); d-- > 0;) {
            offset += rest % layout.extents[d] * layout.strides[d];
            rest /= layout.extents[d];
        }
        body(i, offset);
    }
}

void storeElement(std::byte* at, DType type, double number, int64_t integer) {
    const auto narrow = static_cast<float>(number);
    const uint16_t bits = type == DType::Float16 ? floatToHalf(narrow) : floatToBfloat16(narrow);
    if (type == DType::Float32)
        std::memcpy(at, &narrow, 4);
    else if (type == DType::Float64)
        std::memcpy(at, &number, 8);
    else if (isFloat(type) && sizeOf(type) == 1)
        *at = std::byte(floatToFloat8(type, narrow));
    else if (isFloat(type))
        std::memcpy(at, &bits, 2);
    else
        std::memcpy(at, &integer, sizeOf(type)); // little endian
}

} // namespace

double loadFloat(const std::byte* at, DType type) {
    float narrow = 0;
    double number = 0;
    uint16_t bits = 0;
    if (type == DType::Float32) {
        std::memcpy(&narrow, at, 4);
        return narrow;
    }
    if (type == DType::Float64) {
        std::memcpy(&number, at, 8);
        return number;
    }
    if (sizeOf(type) == 1)
        return float8ToFloat(type, std::to_integer<uint8_t>(*at));
    std::memcpy(&bits, at, 2);
    return type == DType::Float16 ? halfToFloat(bits) : bfloat16ToFloat(bits);
}

namespace {

int64_t loadInteger(const std::byte* at, DType type) {
    int64_t out = 0;
    std::memcpy(&out, at, sizeOf(type));
    return wrapTo(type, out);
}

} // namespace

void addNeeds(Arena& arena, const gpu::KernelSet& set, const std::vector<ReferenceValue>& values) {
    for (const gpu::PackedOperand& packed : set.packed) {
        gpu::PackedConstant recipe =
            gpu::recipeOf(packed, values[packed.input].dtype, values[packed.input].extents);
        recipe.input = 0;
        const TensorPtr constants[] = {
            std::make_shared<const Tensor>(values[packed.input].toTensor())};
        const auto made = gpu::pack(recipe, constants);
        ASSERT_TRUE(made);
        arena.packed.emplace_back(made->size());
        std::memcpy(arena.packed.back().data(), made->data(), made->size());
    }
    arena.scratch.emplace_back(static_cast<size_t>(set.scratchBytes));
    arena.tickets.emplace_back(static_cast<size_t>(set.tickets) * 4);
    std::memset(arena.tickets.back().data(), 0, arena.tickets.back().size());
    for (const std::string& table : set.tables) {
        arena.tables.emplace_back(table.size());
        std::memcpy(arena.tables.back().data(), table.data(), table.size());
    }
}

Arena arenaFor(const gpu::KernelRequest& request, const std::vector<ReferenceValue>& values) {
    Arena out;
    for (size_t i = 0; i < values.size(); ++i) {
        const gpu::OperandLayout& layout = request.inputs[i];
        const size_t size = sizeOf(layout.dtype);
        out.constant.push_back(request.constant(i) != nullptr);
        out.inputs.emplace_back(static_cast<size_t>(spanOf(layout)) * size);
        std::byte* data = out.inputs.back().data();
        forEachElement(layout, [&](int64_t number, int64_t offset) {
            const auto n = static_cast<size_t>(number);
            storeElement(data + static_cast<size_t>(offset) * size, layout.dtype,
                         isFloat(layout.dtype) ? values[i].floats[n] : 0,
                         isFloat(layout.dtype) ? 0 : values[i].ints[n]);
        });
    }
    for (const gpu::OperandLayout& layout : request.outputs)
        out.outputs.emplace_back(static_cast<size_t>(spanOf(layout)) * sizeOf(layout.dtype));
    return out;
}

namespace {

void compare(const gpu::OperandLayout& layout, const std::byte* data, const ReferenceValue& wanted,
             double tolerance) {
    double largest = 0;
    for (double number : wanted.floats)
        if (std::isfinite(number))
            largest = std::max(largest, std::fabs(number));
    int reported = 0;
    forEachElement(layout, [&](int64_t number, int64_t offset) {
        if (reported > 3)
            return;
        const std::byte* at = data + static_cast<size_t>(offset) * sizeOf(layout.dtype);
        const auto n = static_cast<size_t>(number);
        if (!isFloat(layout.dtype)) {
            if (loadInteger(at, layout.dtype) != wanted.ints[n] && ++reported)
                ADD_FAILURE() << "element " << number << ": " << loadInteger(at, layout.dtype)
                              << ", wanted " << wanted.ints[n];
            return;
        }
        const double got = loadFloat(at, layout.dtype);
        const double want = roundTo(layout.dtype, wanted.floats[n]);
        const bool same = std::isfinite(want) ? std::fabs(got - want) <= tolerance * largest
                                              : got == want || (got != got && want != want);
        if (!same && ++reported)
            ADD_FAILURE() << "element " << number << ": " << got << ", wanted " << want
                          << " within " << tolerance * largest;
    });
}

const simt::KernelRow* find(const std::string& name) {
    for (const simt::KernelRow& row : simt::kernels())
        if (name == row.name)
            return &row;
    return nullptr;
}

void* addressOf(const gpu::KernelArgument& argument, const Arena& arena) {
    switch (argument.kind) {
    case gpu::KernelArgument::Kind::Input:
        return arena.inputs[argument.index].data() + argument.offset;
    case gpu::KernelArgument::Kind::Output:
        return arena.outputs[argument.index].data() + argument.offset;
    case gpu::KernelArgument::Kind::Packed:
        return arena.packed[argument.index].data() + argument.offset;
    case gpu::KernelArgument::Kind::Scratch:
        return arena.scratch[0].data() + argument.offset;
    case gpu::KernelArgument::Kind::Table:
        return arena.tables[argument.index].data() + argument.offset;
    case gpu::KernelArgument::Kind::Tickets:
        return arena.tickets[0].data() + argument.offset;
    }
    return nullptr;
}

struct alignas(128) MapMemory {
    std::byte bytes[128];
};

/// What the stand-in driver would make of the map.
MapMemory mapOf(const gpu::TensorMapText& text, const Arena& arena) {
    const std::vector<uint64_t> dims(text.dims.begin(), text.dims.end());
    const std::vector<uint64_t> strides(text.strides.begin(), text.strides.end());
    const std::vector<uint32_t> box(text.box.begin(), text.box.end());
    std::vector<uint32_t> steps(dims.size(), 1);
    constexpr int bytes = 0, words = 2, float16 = 6, bfloat16 = 9, swizzle128 = 3;
    simt::TensorMapArguments arguments = {sizeOf(text.element) == 1        ? bytes
                                          : sizeOf(text.element) == 4      ? words
                                          : text.element == DType::Float16 ? float16
                                                                           : bfloat16,
                                          static_cast<uint32_t>(dims.size()),
                                          addressOf(text.memory, arena),
                                          dims.data(),
                                          strides.data(),
                                          box.data(),
                                          steps.data(),
                                          0,
                                          text.swizzled ? swizzle128 : 0,
                                          0,
                                          0};
    MapMemory out{};
    const char* broken = nullptr;
    if (text.pixels) {
        const gpu::PixelBox& pixels = *text.pixels;
        const std::vector<int> lower(pixels.lower.begin(), pixels.lower.end());
        const std::vector<int> upper(pixels.upper.begin(), pixels.upper.end());
        std::copy(pixels.steps.begin(), pixels.steps.end(), steps.begin() + 1);
        broken =
            simt::encodePixelMap(&out, arguments, {lower.data(), upper.data(), box[0], box[1]});
    } else {
        broken = simt::encodeTensorMap(&out, arguments);
    }
    EXPECT_EQ(broken, nullptr) << broken;
    return out;
}

} // namespace

namespace {

/// All that a kernel may write.
void setOpen(const Arena& arena, bool open) {
    for (size_t i = 0; i < arena.inputs.size(); ++i)
        if (!arena.constant[i])
            arena.inputs[i].setOpen(open);
    for (const auto* memories : {&arena.outputs, &arena.scratch, &arena.tickets})
        for (const simt::GuardedMemory& memory : *memories)
            memory.setOpen(open);
}

} // namespace

void launchAll(const gpu::KernelSet& set, const Arena& arena, const LaunchOrder& order) {
    for (const gpu::KernelText& kernel : set.kernels) {
        const simt::KernelRow* row = find(kernel.name);
        ASSERT_NE(row, nullptr) << kernel.name << " is not in the generated suite";
        std::vector<void*> arguments;
        for (const gpu::KernelArgument& argument : kernel.arguments) {
            arguments.push_back(addressOf(argument, arena));
        }
        std::vector<MapMemory> maps;
        for (const gpu::TensorMapText& map : kernel.maps)
            maps.push_back(mapOf(map, arena));
        for (MapMemory& map : maps)
            arguments.push_back(&map);
        simt::Launch launch{kernel.name,  row->entry,         arguments.data(), kernel.grid,
                            kernel.block, kernel.sharedBytes, order.other,      order.other};
        launch.clusterBlocks = kernel.clusterBlocks;
        if (set.tickets > 0) {
            launch.passed = arena.scratch[0].data();
            launch.passedBytes = arena.scratch[0].size() / 4 * 4;
        }
        EXPECT_TRUE(kernel.waits) << "it cannot be launched early";
        if (order.early)
            launch.gate = [&arena](bool open) { setOpen(arena, open); };
        const simt::Outcome outcome = simt::tryRun(launch);
        ASSERT_TRUE(outcome.ok()) << outcome.message;
    }
}

namespace {

void runOnce(const gpu::KernelRequest& request, const gpu::KernelSet& set,
             const std::vector<ReferenceValue>& inputs, const std::vector<ReferenceValue>& wanted,
             bool otherOrder) {
    SCOPED_TRACE(set.variant + (otherOrder ? ", copies done early, the last block first" : ""));
    Arena arena = arenaFor(request, inputs);
    addNeeds(arena, set, inputs);
    launchAll(set, arena, {otherOrder, true});
    if (set.tickets > 0) { // one launch, and what it left is good for another
        EXPECT_EQ(set.kernels.size(), 1U);
        launchAll(set, arena, {!otherOrder, true});
    }
    for (const auto* memories : {&arena.inputs, &arena.outputs, &arena.packed, &arena.scratch,
                                 &arena.tables, &arena.tickets})
        for (const simt::GuardedMemory& memory : *memories)
            EXPECT_TRUE(memory.intact()) << "bytes beside an operand were written";
    for (size_t i = 0; i < wanted.size(); ++i) {
        SCOPED_TRACE("output " + std::to_string(i));
        compare(request.outputs[i], arena.outputs[i].data(), wanted[i], set.tolerance);
    }
}

/// Copies run beside the threads, so the order of both matters.
bool copiesLater(const gpu::KernelSet& set) {
    return std::any_of(set.kernels.begin(), set.kernels.end(), [](const gpu::KernelText& kernel) {
        return kernel.source.find("commitCopies();") != std::string::npos || !kernel.maps.empty();
    });
}

} // namespace

Prepared preparedNamed(const std::string& name) {
    for (const Case& source : cases())
        if (source.name == name)
            return prepare(source);
    return {};
}

std::vector<ReferenceValue> inputsFor(const KernelProgram& program) {
    Random random;
    std::vector<ReferenceValue> out;
    for (const OperandType& input : program.inputs)
        out.push_back(dataFor(input, false, random));
    return out;
}

void runSet(const gpu::KernelRequest& request, const gpu::KernelSet& set,
            const std::vector<ReferenceValue>& inputs, const std::vector<ReferenceValue>& wanted) {
    for (const bool other : {false, true})
        if (!other || copiesLater(set) || set.tickets > 0)
            runOnce(request, set, inputs, wanted, other);
}

std::string failuresOf(const gpu::KernelRequest& request, const gpu::KernelSet& set,
                       const std::vector<ReferenceValue>& inputs,
                       const std::vector<ReferenceValue>& wanted) {
    testing::TestPartResultArray results;
    {
        const testing::ScopedFakeTestPartResultReporter all(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
        runSet(request, set, inputs, wanted);
    }
    std::string out;
    for (int i = 0; i < results.size(); ++i)
        out += std::string(results.GetTestPartResult(i).message()) + "\n";
    return out;
}

} // namespace fuselage::gpu_suite
