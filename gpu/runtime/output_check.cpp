// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/output_check.h"

#include "core/plan/value_transfer.h"
#include "gpu/emit/device_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace fuselage::gpu {

namespace {

constexpr int64_t marginBytes = 4096; ///< keeps the operand's alignment
constexpr uint64_t threadsOfBlock = 256, mostBlocks = 512, elementsOfThread = 8;

/// Mirrors of the structs in gpu/device/compare.cuh: 64-bit words only.
struct Places {
    uint64_t count, at;
};

struct Comparison {
    Places different, unwritten, strange, untouched, outside;
    double largest;
    uint64_t largestAt;
    double magnitude;
};

/// Ones are NaN in every float type, the other is NaN or huge; whole numbers rarely are either, and
/// the two are far apart.
unsigned char patternOf(DType dtype, PoisonSide side) {
    if (isFloat(dtype))
        return side == PoisonSide::Checked ? 0xff : 0xfe;
    return side == PoisonSide::Checked ? 0xa5 : 0x5a;
}

uint64_t wordOf(DType dtype, PoisonSide side) {
    return 0x0101010101010101ULL * patternOf(dtype, side) >> (64 - 8 * sizeOf(dtype));
}

struct NumberText {
    const char *bits, *value; ///< type of a stored element; its number, from `bits`
};

NumberText numberText(DType dtype) {
    switch (dtype) {
    case DType::Float16:
        return {"unsigned short", "halfToFloat(bits)"};
    case DType::BFloat16:
        return {"unsigned short", "bfloat16ToFloat(bits)"};
    case DType::Float32:
        return {"unsigned", "floatOf(bits)"};
    case DType::Float64:
        return {"unsigned long long", "both.number"};
    case DType::Int8:
        return {"unsigned char", "static_cast<signed char>(bits)"};
    case DType::Int16:
        return {"unsigned short", "static_cast<short>(bits)"};
    case DType::Int32:
        return {"unsigned", "static_cast<int>(bits)"};
    case DType::Int64:
        return {"unsigned long long", "static_cast<double>(static_cast<long long>(bits))"};
    case DType::UInt16:
        return {"unsigned short", "bits"};
    case DType::UInt32:
        return {"unsigned", "bits"};
    case DType::UInt64:
        return {"unsigned long long", "static_cast<double>(bits)"};
    default:
        return {"unsigned char", "bits"};
    }
}

void join(Comparison& to, const Comparison& from) {
    for (auto places : {&Comparison::different, &Comparison::unwritten, &Comparison::strange,
                        &Comparison::untouched, &Comparison::outside}) {
        (to.*places).count += (from.*places).count;
        (to.*places).at = std::min((to.*places).at, (from.*places).at);
    }
    if (from.largest > to.largest ||
        (from.largest == to.largest && from.largestAt < to.largestAt)) {
        to.largest = from.largest;
        to.largestAt = from.largestAt;
    }
    to.magnitude = std::max(to.magnitude, from.magnitude);
}

} // namespace

KernelText comparisonText(DType dtype) {
    const NumberText number = numberText(dtype);
    KernelText out;
    out.name = "compareOutputs";
    out.block = {threadsOfBlock, 1, 1};
    out.source = fmt::format("// Compares what two kernels wrote: elements of {}.\n{}"
                             "typedef {} Bits;\n\n"
                             "__device__ __forceinline__ double numberOf(Bits bits) {{\n"
                             "    union {{\n        unsigned long long bits;\n"
                             "        double number;\n    }} both;\n"
                             "    both.bits = bits;\n    (void)both;\n    return {};\n}}\n\n{}",
                             fuselage::nameOf(dtype), deviceText("types"), number.bits,
                             number.value, deviceText("compare"));
    return out;
}

struct OutputCheck::Figures : Comparison {};

int64_t GuardedOutput::marginOf(DType dtype) {
    return marginBytes / static_cast<int64_t>(sizeOf(dtype));
}

DevicePointer GuardedOutput::address() const {
    return memory.address() + static_cast<DevicePointer>(marginBytes);
}

int64_t GuardedOutput::span() const {
    return spanOf(layout.extents, layout.strides);
}

Result<GuardedOutput> guardedOutput(const Device& device, const OperandLayout& layout) {
    GuardedOutput out{layout, {}};
    auto memory =
        device.allocate(out.span() * static_cast<int64_t>(sizeOf(layout.dtype)) + 2 * marginBytes);
    if (!memory)
        return failure(memory.error());
    out.memory = std::move(*memory);
    return out;
}

Result<void> poison(Stream& stream, const GuardedOutput& output, PoisonSide side) {
    return stream.fill(output.memory.address(), patternOf(output.layout.dtype, side),
                       static_cast<size_t>(output.memory.bytes()));
}

Result<const OutputCheck::Kernels*> OutputCheck::kernels(DType dtype) {
    auto found = m_kernels.find(dtype);
    if (found != m_kernels.end())
        return &found->second;
    CompileOptions options;
    options.arch = m_device.facts().arch;
    auto compiled = m_compiler->compile(comparisonText(dtype), options);
    if (!compiled)
        return failure(compiled.error());
    auto module = m_device.load((*compiled)->cubin);
    if (!module)
        return failure(module.error());
    auto compare = (*module)->kernel("compareOutputs", 0);
    auto join = (*module)->kernel("joinComparisons", 0);
    if (!compare || !join)
        return failure(!compare ? compare.error() : join.error());
    return &m_kernels.emplace(dtype, Kernels{std::move(*module), *compare, *join}).first->second;
}

Result<void> OutputCheck::prepare(DType dtype) {
    auto made = kernels(dtype);
    return made ? Result<void>() : failure(made.error());
}

/// `side`: whose pattern lies in `have`.
Result<OutputCheck::Figures> OutputCheck::compare(Stream& stream, const GuardedOutput& have,
                                                  const GuardedOutput& want, PoisonSide side,
                                                  double allowed) {
    const DType dtype = have.layout.dtype;
    auto kernels = this->kernels(dtype);
    if (!kernels)
        return failure(kernels.error());
    const auto margin = static_cast<uint64_t>(GuardedOutput::marginOf(dtype));
    const auto span = static_cast<uint64_t>(have.span());
    const uint64_t count = span + 2 * margin;
    const uint64_t perBlock = threadsOfBlock * elementsOfThread;
    const uint64_t blocks = std::clamp<uint64_t>((count + perBlock - 1) / perBlock, 1, mostBlocks);
    if (m_joined.handle() == 0) {
        auto partial = m_device.allocate(
            static_cast<int64_t>(mostBlocks * threadsOfBlock * sizeof(Comparison)));
        auto joined = m_device.allocate(threadsOfBlock * sizeof(Comparison));
        if (!partial || !joined)
            return failure(!partial ? partial.error() : joined.error());
        m_partial = std::move(*partial);
        m_joined = std::move(*joined);
    }
    const DevicePointer comparing[] = {have.memory.address(),
                                       want.memory.address(),
                                       m_partial.address(),
                                       count,
                                       margin,
                                       margin + span,
                                       wordOf(dtype, side),
                                       wordOf(dtype, PoisonSide::Judge),
                                       std::bit_cast<uint64_t>(allowed),
                                       isFloat(dtype) ? 0ULL : 1ULL};
    KernelLaunch launch{(*kernels)->compare.function, "compareOutputs"};
    launch.grid = {static_cast<uint32_t>(blocks), 1, 1};
    launch.block = {threadsOfBlock, 1, 1};
    launch.arguments = comparing;
    if (auto launched = stream.launch(launch); !launched)
        return failure(launched.error());
    const DevicePointer joining[] = {m_partial.address(), m_joined.address(),
                                     blocks * threadsOfBlock};
    launch.function = (*kernels)->join.function;
    launch.name = "joinComparisons";
    launch.grid = {1, 1, 1};
    launch.arguments = joining;
    if (auto launched = stream.launch(launch); !launched)
        return failure(launched.error());
    std::vector<Comparison> parts(threadsOfBlock);
    if (auto copied =
            stream.copyOut(parts.data(), m_joined.address(), parts.size() * sizeof(Comparison));
        !copied)
        return failure(copied.error());
    if (auto done = stream.synchronize(); !done)
        return failure(done.error());
    Figures out{parts.front()};
    for (size_t i = 1; i < parts.size(); ++i)
        join(out, parts[i]);
    return out;
}

namespace {

/// Elements between those of the operand, where its strides leave some.
uint64_t gapsOf(const GuardedOutput& output) {
    return static_cast<uint64_t>(output.span() - elementCount(output.layout.extents).value_or(0));
}

std::string written(const Comparison& figures, uint64_t gaps, bool whole) {
    if (figures.outside.count > 0)
        return fmt::format("{} elements outside of its result were written", figures.outside.count);
    if (figures.unwritten.count > 0)
        return fmt::format("{} elements of its result were never written, the first is element {}",
                           figures.unwritten.count, figures.unwritten.at);
    if (figures.untouched.count > gaps && !whole)
        return fmt::format("{} elements of its result were never written",
                           figures.untouched.count - gaps);
    if (figures.strange.count > 0)
        return fmt::format("{} elements between those of its result were written, the first at {}",
                           figures.strange.count, figures.strange.at);
    return {};
}

} // namespace

Result<double> OutputCheck::magnitude(Stream& stream, const GuardedOutput& judge) {
    auto figures = compare(stream, judge, judge, PoisonSide::Judge, 0);
    if (!figures)
        return failure(figures.error());
    if (std::string wrong = written(*figures, gapsOf(judge), !isFloat(judge.layout.dtype));
        !wrong.empty())
        return failure("wrong-result", wrong);
    if (isFloat(judge.layout.dtype) && figures->untouched.count < gapsOf(judge))
        return failure("wrong-result", "elements between those of its result were written");
    return figures->magnitude;
}

Result<std::string> OutputCheck::difference(Stream& stream, const GuardedOutput& checked,
                                            const GuardedOutput& judge, double magnitude,
                                            const OutputTolerance& tolerance) {
    const double allowed = tolerance.relative * magnitude;
    auto figures = compare(stream, checked, judge, PoisonSide::Checked, allowed);
    if (!figures)
        return failure(figures.error());
    if (std::string wrong = written(*figures, gapsOf(checked), false); !wrong.empty())
        return wrong;
    const auto elements = static_cast<double>(elementCount(checked.layout.extents).value_or(0));
    const double most = tolerance.share > 0 ? std::max(1.0, tolerance.share * elements) : 0;
    if (static_cast<double>(figures->different.count) <= most)
        return std::string();
    if (figures->largest == std::numeric_limits<double>::max())
        return fmt::format("only one of the two is finite at element {}, {} elements differ",
                           figures->largestAt, figures->different.count);
    return fmt::format("{:.1e} at element {}, allowed {:.0e}", figures->largest, figures->largestAt,
                       allowed);
}

} // namespace fuselage::gpu
