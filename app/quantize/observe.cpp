// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/observe.h"

#include "app/quantize/set_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::quantize {

namespace {

/// Where a run shows a value.
struct Shown {
    bool asInput = false;
    size_t position = 0; ///< among the inputs or outputs
};

/// Makes the values outputs, unless they are seen already.
std::map<ValueId, Shown> show(Graph& graph, const std::vector<ValueId>& values) {
    std::map<ValueId, Shown> out;
    for (size_t i = 0; i < graph.inputs().size(); ++i)
        out[graph.inputs()[i]] = {true, i};
    for (size_t i = 0; i < graph.outputs().size(); ++i)
        out.try_emplace(graph.outputs()[i], Shown{false, i});
    for (ValueId value : values)
        if (out.try_emplace(value, Shown{false, graph.outputs().size()}).second)
            graph.addOutput(value);
    return out;
}

/// Values that a run may show together: what they take for inputs like these stays below a limit.
Result<std::vector<std::vector<ValueId>>> groupsOf(const Graph& model,
                                                   const std::vector<ValueId>& values,
                                                   const std::vector<Tensor>& inputs,
                                                   int64_t mostBytes) {
    Graph bound = model.clone();
    std::vector<std::string> notes;
    if (auto fits = bindToInputs(bound, inputs, {}, notes); !fits)
        return failure(fits.error());
    std::vector<std::vector<ValueId>> out;
    int64_t room = 0;
    for (ValueId value : values) {
        // An unknown size counts as a group of its own.
        const int64_t bytes = bound.value(value).type.byteCount().value_or(mostBytes);
        if (out.empty() || bytes > room) {
            out.emplace_back();
            room = mostBytes;
        }
        out.back().push_back(value);
        room = std::max<int64_t>(0, room - bytes);
    }
    return out;
}

/// All sets through the model, with one group of values to look at.
class Watch {
public:
    Watch(const Graph& model, const ObserveRequest& request, const std::vector<ValueId>& values)
        : m_model(model), m_request(request), m_values(values), m_shown(model.clone()),
          m_places(show(m_shown, values)), m_runner(std::move(m_shown), unfused(request.run)) {}

    Result<void> add(const std::vector<Tensor>& inputs, size_t set, Histograms& out,
                     Progress& progress) {
        auto outputs = m_runner.run(inputs, progress);
        if (!outputs)
            return failure(outputs.error());
        for (ValueId value : m_values) {
            const Shown& place = m_places.at(value);
            const Tensor& tensor =
                place.asInput ? inputs[place.position] : (*outputs)[place.position];
            const std::span<const float> numbers = tensor.as<float>();
            auto bad = std::find_if(numbers.begin(), numbers.end(),
                                    [](float number) { return !std::isfinite(number); });
            if (bad != numbers.end())
                return failure("quantize.number",
                               fmt::format("holds {} in set {} of {}: no range holds it", *bad,
                                           set + 1, m_request.sets->text()),
                               m_model.value(value).name,
                               "give other data, or leave out the nodes that read it with "
                               "--keep-float");
            out[value].add(numbers);
        }
        return {};
    }

private:
    /// Values inside fused kernels would cost as much as running each node.
    static CompileOptions unfused(CompileOptions options) {
        options.oneKernelPerNode = true;
        return options;
    }

    const Graph& m_model;
    const ObserveRequest& m_request;
    const std::vector<ValueId>& m_values;
    Graph m_shown;
    std::map<ValueId, Shown> m_places;
    SetRunner m_runner;
};

} // namespace

Result<Histograms> observe(const Graph& model, const std::vector<ValueId>& values,
                           const ObserveRequest& request, Progress& progress) {
    Histograms out;
    std::vector<std::vector<ValueId>> groups;
    const size_t sets = request.sets->size();
    for (size_t group = 0; group < std::max<size_t>(groups.size(), 1); ++group) {
        std::optional<Watch> watch;
        for (size_t set = 0; set < sets; ++set) {
            progress.report("calibrating", group * sets + set,
                            std::max<size_t>(groups.size(), 1) * sets);
            if (progress.cancelled())
                return cancelledFailure("calibration");
            auto inputs = request.sets->read(model, request.dims, set);
            if (!inputs)
                return failure(inputs.error());
            if (groups.empty()) {
                auto made = groupsOf(model, values, *inputs, request.mostBytes);
                if (!made)
                    return failure(made.error());
                groups = std::move(*made);
                if (groups.empty())
                    return out;
            }
            if (!watch)
                watch.emplace(model, request, groups[group]);
            if (auto added = watch->add(*inputs, set, out, progress); !added)
                return failure(added.error());
        }
    }
    return out;
}

} // namespace fuselage::quantize
