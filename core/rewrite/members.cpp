// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/members.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

/// The nodes of the region that this value names, else the node that makes it.
std::vector<NodeId> nodesBehind(const EvaluateContext& context, ValueId value) {
    if (!context.builder && context.regions)
        for (const RegionBinding& region : *context.regions)
            if (region.value == value)
                return region.nodes;
    NodeId maker = context.valueGraph().producer(value);
    return maker.valid() ? std::vector{maker} : std::vector<NodeId>{};
}

Quantity flopsOf(const EvaluateContext& context, ValueId value) {
    double sum = 0;
    for (NodeId node : nodesBehind(context, value)) {
        std::optional<double> flops = estimateFlops(context.valueGraph(), node);
        if (!flops)
            return Quantity::unknown("the shapes of `" + context.valueGraph().node(node).name +
                                     "`");
        sum += *flops;
    }
    return Quantity::real(sum);
}

Quantity rankOf(const Type& type) {
    return type.hasRank() ? Quantity::integer(static_cast<int64_t>(type.rank()))
                          : Quantity::unknown("a rank");
}

Quantity dtypeOf(const Type& type) {
    return Quantity::ofText(nameOf(type.dtype));
}

Quantity bytesOf(const Type& type) {
    std::optional<int64_t> bytes = type.byteCount();
    return bytes ? Quantity::integer(*bytes) : Quantity::unknown("a shape");
}

Quantity usersOf(const EvaluateContext& context, ValueId id) {
    const Graph& graph = context.valueGraph();
    return Quantity::integer(static_cast<int64_t>(graph.value(id).uses.size()) +
                             (graph.isGraphOutput(id) ? 1 : 0));
}

Quantity valueNameOf(const EvaluateContext& context, ValueId id) {
    return Quantity::ofText(context.valueGraph().value(id).name);
}

Quantity constantOf(const EvaluateContext& context, ValueId id) {
    return contentsOf(context.valueGraph(), id);
}

constexpr MemberRow members[] = {
    {"shape", "its dimensions; `x.shape[-1]` is the last", nullptr, Quantity::shape},
    {"rank", "number of dimensions", nullptr, rankOf},
    {"dtype", "element type, as text", nullptr, dtypeOf},
    {"bytes", "size in memory", nullptr, bytesOf},
    {"value", "contents of a constant", constantOf, nullptr},
    {"users", "how many nodes and outputs read it", usersOf, nullptr},
    {"flops", "floating-point operations of the nodes that make it", flopsOf, nullptr},
    {"name", "name of the value in the model", valueNameOf, nullptr},
};

template <double Gain::*Member> Quantity ofGain(const RootValues& roots) {
    return roots.gain ? Quantity::real(roots.gain->*Member) : Quantity::unknown("`gain`");
}

/// Of the kernels that are made.
template <std::optional<double> Gain::*Member> Quantity ofKernels(const RootValues& roots) {
    if (!roots.gain)
        return Quantity::unknown("`gain`");
    const std::optional<double>& most = roots.gain->*Member;
    return most ? Quantity::real(*most)
                : Quantity::unknown("registers and shared memory, which kernels of a processor do "
                                    "not have");
}

template <auto Member> Quantity ofDevice(const RootValues& roots) {
    if (!roots.device)
        return Quantity::unknown("`device`");
    if constexpr (std::is_same_v<decltype(Member), std::string DeviceFigures::*>)
        return Quantity::ofText(roots.device->*Member);
    else
        return Quantity::real(roots.device->*Member);
}

template <auto Member> Quantity ofTotal(const RootValues& roots) {
    std::optional<double> sum =
        roots.total ? std::optional<double>(roots.total->*Member) : std::nullopt;
    return sum ? Quantity::real(*sum) : Quantity::unknown("`total`: the shape of some value");
}

constexpr const char* plans = "plans of what the match touches: its nodes, minus what the rule "
                              "makes of them";
constexpr const char* kernels =
    "predicted of the plan of what the rule makes; a processor has none";
constexpr const char* profile = "the device profile, field of that name";
constexpr const char* model = "all nodes of the model, as it was before the first phase";

using Device = DeviceFigures;

constexpr RootRow roots[] = {
    {"gain", "us", "microseconds", "time saved, as predicted", plans, ofGain<&Gain::us>},
    {"gain", "bytes", "bytes", "logical traffic saved", plans, ofGain<&Gain::bytes>},
    {"gain", "launches", "kernels", "launches saved", plans, ofGain<&Gain::launches>},
    {"gain", "flops", "operations", "floating-point operations saved", plans, ofGain<&Gain::flops>},
    {"gain", "peak_bytes", "bytes", "memory saved at the moment that takes most, without operands",
     plans, ofGain<&Gain::peakBytes>},
    {"gain", "regs", "registers", "of a thread, the most that a kernel of the match needs; `regs`",
     kernels, ofKernels<&Gain::registers>},
    {"gain", "smem", "bytes", "shared memory of a block, the most that one needs; `smem`", kernels,
     ofKernels<&Gain::sharedBytes>},
    {"device", "kind", "text", "`\"gpu\"` or `\"cpu\"`", profile, ofDevice<&Device::kind>,
     "gpu cpu"},
    {"device", "arch", "text", "`\"sm_90\"`, `\"x86-64 avx512\"`", profile,
     ofDevice<&Device::arch>},
    {"device", "units", "units", "multiprocessors or cores", profile, ofDevice<&Device::units>},
    {"device", "lanes_per_unit", "lanes", "of one unit", profile, ofDevice<&Device::lanesPerUnit>},
    {"device", "clock", "hertz", "of a unit", profile, ofDevice<&Device::clock>},
    {"device", "dram_bandwidth", "bytes/s", "of memory, in a copy", profile,
     ofDevice<&Device::dramBandwidth>},
    {"device", "l2_bandwidth", "bytes/s", "of the last cache", profile,
     ofDevice<&Device::l2Bandwidth>},
    {"device", "l2_bytes", "bytes", "size of the last cache", profile, ofDevice<&Device::l2Bytes>},
    {"device", "fp32_flops", "operations/s", "peak in float", profile,
     ofDevice<&Device::fp32Flops>},
    {"device", "fp16_matrix_flops", "operations/s", "peak of products in float16", profile,
     ofDevice<&Device::fp16MatrixFlops>},
    {"device", "tf32_matrix_flops", "operations/s", "peak of products in TF32", profile,
     ofDevice<&Device::tf32MatrixFlops>},
    {"device", "launch_seconds", "seconds", "to start one kernel", profile,
     ofDevice<&Device::launchSeconds>},
    {"device", "shared_bytes_per_unit", "bytes", "shared memory of a unit", profile,
     ofDevice<&Device::sharedBytesPerUnit>},
    {"device", "registers_per_unit", "registers", "of a unit", profile,
     ofDevice<&Device::registersPerUnit>},
    {"device", "threads_per_unit", "threads", "that a unit holds", profile,
     ofDevice<&Device::threadsPerUnit>},
    {"total", "flops", "operations", "sum of `.flops` of what nodes make", model,
     ofTotal<&GraphTotals::flops>},
    {"total", "bytes", "bytes", "sum of `.bytes` of what nodes read and make", model,
     ofTotal<&GraphTotals::bytes>},
    {"total", "nodes", "nodes", "number of nodes", model, ofTotal<&GraphTotals::nodes>},
};

} // namespace

GraphTotals totalsOf(const Graph& graph) {
    GraphTotals out;
    double flops = 0, bytes = 0;
    bool flopsKnown = true, bytesKnown = true;
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        out.nodes += 1;
        std::optional<double> own = estimateFlops(graph, id);
        flopsKnown = flopsKnown && own;
        flops += own.value_or(0);
        for (const auto* values : {&node.inputs, &node.outputs})
            for (ValueId value : *values) {
                if (!value.valid())
                    continue;
                std::optional<int64_t> size = graph.value(value).type.byteCount();
                bytesKnown = bytesKnown && size;
                bytes += static_cast<double>(size.value_or(0));
            }
    }
    if (flopsKnown)
        out.flops = flops;
    if (bytesKnown)
        out.bytes = bytes;
    return out;
}

std::span<const MemberRow> memberRows() {
    return members;
}

const MemberRow* findMember(std::string_view name) {
    const auto* found = std::find_if(std::begin(members), std::end(members),
                                     [&](const MemberRow& row) { return name == row.name; });
    return found == std::end(members) ? nullptr : found;
}

std::span<const RootRow> rootRows() {
    return roots;
}

const RootRow* findRoot(std::string_view root, std::string_view name) {
    const auto* found = std::find_if(std::begin(roots), std::end(roots), [&](const RootRow& row) {
        return root == row.root && name == row.name;
    });
    return found == std::end(roots) ? nullptr : found;
}

bool isRoot(std::string_view name) {
    return std::any_of(std::begin(roots), std::end(roots),
                       [&](const RootRow& row) { return name == row.root; });
}

std::string rootsAsMarkdown() {
    std::string out = "| root | unit | what it is | from | case |\n|---|---|---|---|---|\n";
    for (const RootRow& row : roots)
        out += fmt::format("| `{0}.{1}` | {2} | {3} | {4} | `rewrite/gate_{0}.case` |\n", row.root,
                           row.name, row.unit, row.documentation, row.source);
    return out;
}

} // namespace fuselage
