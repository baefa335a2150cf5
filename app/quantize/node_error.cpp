// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/node_error.h"

#include "app/pipeline/take_pairs_out.h"
#include "app/quantize/set_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage::quantize {

namespace {

/// A value that both graphs make, with the node of the model that makes it.
struct Shared {
    std::string node, value;
    int64_t bytes = 0;
};

std::vector<Shared> sharedValues(const Graph& model, const Graph& twin, int64_t mostBytes) {
    std::vector<Shared> out;
    for (NodeId id : topologicalOrder(model)) {
        const Node& node = model.node(id);
        if (node.outputs.empty() || !node.outputs[0].valid())
            continue;
        const Value& value = model.value(node.outputs[0]);
        const ValueId same = twin.findValue(value.name);
        if (isFloat(value.type.dtype) && !value.constant && same.valid() &&
            twin.producer(same).valid())
            out.push_back({node.name, value.name, value.type.byteCount().value_or(mostBytes)});
    }
    return out;
}

/// Makes the values outputs; the position of each among the outputs.
std::vector<size_t> handOut(Graph& graph, const std::vector<Shared>& values, size_t begin,
                            size_t end) {
    std::vector<size_t> places;
    for (size_t i = begin; i < end; ++i) {
        const ValueId value = graph.findValue(values[i].value);
        const auto& outputs = graph.outputs();
        auto at = std::find(outputs.begin(), outputs.end(), value);
        places.push_back(static_cast<size_t>(at - outputs.begin()));
        if (at == outputs.end())
            graph.addOutput(value);
    }
    return places;
}

/// Nothing where the two cannot be compared: their shapes depend on the data.
std::optional<app::NodeErrorReport> compare(const Shared& value, const Tensor& wanted,
                                            const Tensor& found) {
    if (wanted.extents() != found.extents())
        return std::nullopt;
    double signal = 0, noise = 0;
    app::NodeErrorReport out{value.node, value.value, 0, 0};
    for (int64_t i = 0; i < wanted.elementCount(); ++i) {
        const double a = wanted.at(i), b = found.at(i);
        if (!std::isfinite(a))
            continue;
        const double off =
            std::isfinite(b) ? std::abs(a - b) : std::numeric_limits<double>::infinity();
        signal += a * a;
        noise += off * off;
        out.maxAbsolute = std::max(out.maxAbsolute, off);
    }
    if (noise > 0)
        out.relative =
            signal > 0 ? std::sqrt(noise / signal) : std::numeric_limits<double>::infinity();
    return out;
}

} // namespace

Result<std::vector<app::NodeErrorReport>>
nodeErrors(const app::LoadedModel& model, const NodeErrorRequest& request, Progress& progress) {
    Graph twin = model.graph.clone();
    auto pairs = app::takePairsOut(twin);
    if (!pairs)
        return failure(pairs.error());
    if (pairs->empty() && storageOf(request.run.precision) == DType::Float32)
        return failure("errors.none",
                       "the model has no pairs and runs in float32: no node loses anything by how "
                       "values are stored",
                       {}, "give a quantised model, or --precision fp16");
    auto inputs = request.sets->read(model.graph, model.dims, 0);
    if (!inputs)
        return failure(inputs.error());
    CompileOptions lossy = request.run, plain = request.run;
    lossy.oneKernelPerNode = plain.oneKernelPerNode = true;
    plain.precision = Precision::Fp32;
    plain.precisionOf = {};
    const std::vector<Shared> values = sharedValues(model.graph, twin, request.mostBytes);
    std::vector<app::NodeErrorReport> out;
    for (size_t begin = 0; begin < values.size();) {
        size_t end = begin;
        for (int64_t room = request.mostBytes;
             end < values.size() && (end == begin || values[end].bytes <= room); ++end)
            room -= std::min(room, values[end].bytes);
        progress.report(
            fmt::format("errors of nodes {} to {} of {}", begin + 1, end, values.size()), begin,
            values.size());
        Graph shownModel = model.graph.clone(), shownTwin = twin.clone();
        const std::vector<size_t> inModel = handOut(shownModel, values, begin, end);
        const std::vector<size_t> inTwin = handOut(shownTwin, values, begin, end);
        auto found = SetRunner(std::move(shownModel), lossy).run(*inputs, progress);
        if (!found)
            return failure(found.error());
        auto wanted = SetRunner(std::move(shownTwin), plain).run(*inputs, progress);
        if (!wanted)
            return failure(wanted.error());
        if (progress.cancelled())
            return cancelledFailure("comparing nodes");
        for (size_t i = 0; i < end - begin; ++i)
            if (auto error = compare(values[begin + i], (*wanted)[inTwin[i]], (*found)[inModel[i]]))
                out.push_back(std::move(*error));
        begin = end;
    }
    return out;
}

} // namespace fuselage::quantize
