// SPDX-License-Identifier: Apache-2.0
#include "app/report/quantised.h"

#include "core/support/number_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>

namespace fuselage::app {

namespace {

constexpr uint32_t omitted = GraphNodeReport::omitted;

struct StoredRange {
    const char* dtype;
    double low, high;
};

constexpr StoredRange ranges[] = {{"int8", -128, 127},
                                  {"uint8", 0, 255},
                                  {"int4", -8, 7},
                                  {"uint4", 0, 15},
                                  {"int2", -2, 1},
                                  {"uint2", 0, 3},
                                  {"int16", -32768, 32767},
                                  {"uint16", 0, 65535},
                                  {"float8e4m3fn", -448, 448},
                                  {"float8e5m2", -57344, 57344},
                                  {"float8e4m3fnuz", -240, 240},
                                  {"float8e5m2fnuz", -57344, 57344},
                                  {"float4e2m1", -6, 6}};

const GraphValueReport* valueAt(const GraphReport& graph, const std::vector<uint32_t>& list,
                                size_t at) {
    return at < list.size() && list[at] < graph.values.size() ? &graph.values[list[at]] : nullptr;
}

std::optional<double> numberOf(const GraphValueReport* value) {
    if (value == nullptr || !value->constant || value->literal.empty())
        return std::nullopt;
    const char* end = nullptr;
    const double number = numberIn(value->literal, &end);
    return end != value->literal.c_str() && std::isfinite(number) ? std::optional(number)
                                                                  : std::nullopt;
}

} // namespace

std::optional<StoredForm> storedFormOf(const GraphReport& graph, const GraphNodeReport& node) {
    const bool stores = node.op == "QuantizeLinear";
    if (!stores && node.op != "DequantizeLinear")
        return std::nullopt;
    const GraphValueReport* stored = valueAt(graph, stores ? node.outputs : node.inputs, 0);
    const GraphValueReport* scale = valueAt(graph, node.inputs, 1);
    if (stored == nullptr || scale == nullptr)
        return std::nullopt;
    StoredForm out;
    out.dtype = stored->dtype;
    out.zeroPoint = numberOf(valueAt(graph, node.inputs, 2)).value_or(0);
    if (const size_t shape = scale->type.find('['); shape != std::string::npos)
        out.scales = scale->type.substr(shape);
    out.scale = numberOf(scale);
    for (const StoredRange& range : ranges)
        if (out.scale && out.dtype == range.dtype) {
            out.low = (range.low - out.zeroPoint) * *out.scale;
            out.high = (range.high - out.zeroPoint) * *out.scale;
            return out;
        }
    out.scale.reset();
    return out;
}

std::string storedText(const StoredForm& form) {
    if (!form.scale)
        return form.dtype + (form.scales.empty() ? "" : " " + form.scales + " scales");
    const bool symmetric = form.zeroPoint == 0 && form.low < 0;
    std::string out = symmetric
                          ? fmt::format("{} ±{:.3g}", form.dtype, form.high)
                          : fmt::format("{} {:.3g} … {:.3g}", form.dtype, form.low, form.high);
    out += fmt::format(" ×{:.3g}", *form.scale);
    return form.zeroPoint == 0 ? out : out + fmt::format(" z{:.0f}", form.zeroPoint);
}

std::vector<QuantisedValue> quantisedValues(const GraphReport& graph) {
    std::map<uint32_t, const GraphNodeReport*> makers;
    std::map<uint32_t, std::vector<std::string>> readers;
    for (const GraphNodeReport& node : graph.nodes) {
        if (node.op == "QuantizeLinear" && !node.outputs.empty())
            makers[node.outputs[0]] = &node;
        for (uint32_t value : node.inputs)
            if (value != omitted)
                readers[value].push_back(node.name);
    }
    std::vector<QuantisedValue> out;
    for (const GraphNodeReport& node : graph.nodes) {
        const auto form = storedFormOf(graph, node);
        if (!form || node.op != "DequantizeLinear" || node.outputs.empty())
            continue;
        const uint32_t stored = node.inputs[0];
        const auto maker = makers.find(stored);
        QuantisedValue each{
            graph.values[stored].name, *form, graph.values[stored].constant, {}, node.name};
        if (maker != makers.end())
            if (const auto* source = valueAt(graph, maker->second->inputs, 0))
                each.value = source->name;
        if (node.outputs[0] != omitted)
            each.readers = readers[node.outputs[0]];
        out.push_back(std::move(each));
    }
    return out;
}

} // namespace fuselage::app
