// SPDX-License-Identifier: Apache-2.0
// What Loop and Scan do, over values of any kind: the reference's, or a backend's tensors. Values
// of one iteration go into the next one; what iterations produce is collected and stacked at the
// end. How a body is run is the caller's.
//
// `Values` says what a value is:
//   using Value;                                        // moves, and has `extents()`, `dtype()`
//   static const Extents& extents(const Value&);
//   static DType dtype(const Value&);
//   static bool isTensor(const Value&);
//   static int64_t intAt(const Value&, int64_t);        // an element of integers or bool
//   static Value ofInt(DType, int64_t);                 // a scalar
//   static Result<Value> allocate(const Node&, DType, Extents);   // zeroed; checks the size
//   static void copyRuns(const Value& from, Value& to, const RunCopy&);
#pragma once

#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace fuselage {

/// `count` runs of `length` elements, from element `from` on and `fromStep` apart, to `to`.
struct RunCopy {
    int64_t count = 0, length = 0;
    int64_t from = 0, fromStep = 0;
    int64_t to = 0, toStep = 0;
};

/// How the inputs of a Scan divide into states and scanned values.
struct ScanLayout {
    size_t states = 0;
    size_t scanned = 0;
    std::vector<int64_t> inputAxes;
    std::vector<int64_t> inputDirections;
    std::vector<int64_t> outputAxes;
    std::vector<int64_t> outputDirections;

    static int64_t at(const std::vector<int64_t>& values, size_t i) {
        return i < values.size() ? values[i] : 0;
    }

    /// None where num_scan_inputs does not fit the inputs.
    static std::optional<ScanLayout> of(const Node& node, size_t inputs);
};

/// Opset 8 put an optional `sequence_lens` first and a batch axis in front of everything.
bool isBatchedScan(const Node& node, size_t inputs);

/// Declared type of a body's output.
Type bodyOutputType(const Node& node, size_t output);

template <typename Values> class Iterations {
public:
    using Value = typename Values::Value;
    using Several = Result<std::vector<Value>>;
    using RunBody = std::function<Several(std::vector<Value>)>;

    Iterations(const Node& node, RunBody body) : m_node(node), m_body(std::move(body)) {}

    /// Inputs are null where omitted. One value for each output that the body makes.
    Several loop(std::span<const Value* const> inputs) const {
        const Value* limit = inputs.empty() ? nullptr : inputs[0];
        const Value* condition = inputs.size() < 2 ? nullptr : inputs[1];
        if ((limit && !isScalar(*limit)) || (condition && !isScalar(*condition)))
            return badInput(m_node, "trip count and condition must be scalars");
        auto carried = given(inputs, 2);
        if (!carried)
            return carried;
        const size_t scans =
            m_node.outputs.size() > carried->size() ? m_node.outputs.size() - carried->size() : 0;
        std::vector<Collected> collected(scans);
        bool goOn = !condition || Values::intAt(*condition, 0) != 0;
        const int64_t trips = limit ? Values::intAt(*limit, 0) : INT64_MAX;
        for (int64_t trip = 0; trip < trips && goOn; ++trip) {
            if (trip == maxTrips)
                return badInput(m_node, fmt::format("more than {} iterations", maxTrips));
            std::vector<Value> arguments;
            arguments.push_back(Values::ofInt(DType::Int64, trip));
            arguments.push_back(Values::ofInt(DType::Bool, 1));
            std::move(carried->begin(), carried->end(), std::back_inserter(arguments));
            auto results = m_body(std::move(arguments));
            if (!results)
                return results;
            if (results->size() < 1 + carried->size() + scans || !isScalar((*results)[0]))
                return badInput(m_node, "the body has too few outputs or no scalar condition");
            goOn = Values::intAt((*results)[0], 0) != 0;
            for (size_t i = 0; i < carried->size(); ++i)
                (*carried)[i] = std::move((*results)[1 + i]);
            if (auto added = add(collected, *results, 1 + carried->size()); !added)
                return failure(added.error());
        }
        const size_t first = 1 + carried->size();
        for (size_t i = 0; i < scans; ++i) {
            auto stack = stacked(collected[i], 0, false, bodyOutputType(m_node, first + i));
            if (!stack)
                return failure(stack.error());
            carried->push_back(std::move(*stack));
        }
        return carried;
    }

    Several scan(std::span<const Value* const> inputs) const {
        if (isBatchedScan(m_node, inputs.size()))
            return scanBatches(inputs);
        const auto layout = ScanLayout::of(m_node, inputs.size());
        if (!layout)
            return badInput(m_node, "`num_scan_inputs` does not fit the inputs");
        auto values = given(inputs, 0);
        return values ? scanOnce(*layout, std::move(*values)) : std::move(values);
    }

private:
    /// Loops stop here, whatever they ask for, since nothing else would end a hostile one.
    static constexpr int64_t maxTrips = 100'000'000;

    /// Values of one output over all iterations.
    struct Collected {
        std::vector<Value> values;
        int64_t elements = 0;
    };

    static int64_t count(const Value& value) {
        const Extents& extents = Values::extents(value);
        return countOf(extents, 0, extents.size());
    }

    static bool isScalar(const Value& value) {
        return Values::isTensor(value) && count(value) == 1;
    }

    Several given(std::span<const Value* const> inputs, size_t first) const {
        std::vector<Value> out;
        for (size_t i = first; i < inputs.size(); ++i) {
            if (!inputs[i])
                return badInput(m_node, fmt::format("input {} is missing", i));
            out.push_back(*inputs[i]);
        }
        return out;
    }

    /// One more value of each, the results from `first` on.
    Result<void> add(std::vector<Collected>& to, std::vector<Value>& results, size_t first) const {
        for (size_t i = 0; i < to.size() && first + i < results.size(); ++i) {
            Value& value = results[first + i];
            std::vector<Value>& values = to[i].values;
            if (!Values::isTensor(value) ||
                (!values.empty() && (Values::extents(value) != Values::extents(values[0]) ||
                                     Values::dtype(value) != Values::dtype(values[0]))))
                return badInput(m_node, "iterations produce values of different types");
            to[i].elements += count(value);
            if (to[i].elements > maxReferenceElements)
                return badInput(m_node, "the iterations produce too much");
            values.push_back(std::move(value));
        }
        return {};
    }

    /// The values along a new axis; `model` gives the type when there is none.
    Result<Value> stacked(const Collected& parts, int64_t axis, bool reversed,
                          const Type& model) const {
        const auto parties = static_cast<int64_t>(parts.values.size());
        DType dtype = model.dtype;
        Extents element;
        if (parties > 0) {
            dtype = Values::dtype(parts.values[0]);
            element = Values::extents(parts.values[0]);
        } else if (model.shape) {
            for (const Dim& dim : *model.shape)
                element.push_back(std::max<int64_t>(0, dim.number().value_or(0)));
        }
        const auto at = normalizedAxis(axis, element.size() + 1);
        if (!at)
            return badInput(m_node, fmt::format("axis {} is out of range for rank {}", axis,
                                                element.size() + 1));
        Extents extents = element;
        extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(*at), parties);
        auto out = Values::allocate(m_node, dtype, extents);
        if (!out)
            return out;
        const int64_t inner = countOf(element, *at, element.size());
        for (int64_t i = 0; i < parties; ++i) {
            const int64_t position = reversed ? parties - 1 - i : i;
            Values::copyRuns(
                parts.values[static_cast<size_t>(i)], *out,
                {countOf(element, 0, *at), inner, 0, inner, position * inner, parties * inner});
        }
        return out;
    }

    /// Element `index` of x along `axis`, without that axis.
    Result<Value> sliceAt(const Value& x, size_t axis, int64_t index) const {
        const Extents& from = Values::extents(x);
        Extents extents = from;
        extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
        auto out = Values::allocate(m_node, Values::dtype(x), std::move(extents));
        if (!out)
            return out;
        const int64_t inner = countOf(from, axis + 1, from.size());
        Values::copyRuns(
            x, *out, {countOf(from, 0, axis), inner, index * inner, from[axis] * inner, 0, inner});
        return out;
    }

    /// One pass over the scanned values; `values` are states, then scanned inputs.
    Several scanOnce(const ScanLayout& layout, std::vector<Value> values) const {
        std::vector<Value> states;
        std::move(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(layout.states),
                  std::back_inserter(states));
        std::vector<size_t> axes;
        int64_t length = -1;
        for (size_t i = 0; i < layout.scanned; ++i) {
            const Value& x = values[layout.states + i];
            const Extents& extents = Values::extents(x);
            const auto axis = normalizedAxis(ScanLayout::at(layout.inputAxes, i), extents.size());
            if (!Values::isTensor(x) || !axis || (length >= 0 && length != extents[*axis]))
                return badInput(m_node,
                                "the scanned inputs have different lengths or no such axis");
            length = extents[*axis];
            axes.push_back(*axis);
        }
        const size_t outputs = std::max(m_node.outputs.size(), layout.states) - layout.states;
        std::vector<Collected> collected(outputs);
        for (int64_t step = 0; step < length; ++step) {
            std::vector<Value> arguments;
            std::move(states.begin(), states.end(), std::back_inserter(arguments));
            for (size_t i = 0; i < layout.scanned; ++i) {
                const bool backwards = ScanLayout::at(layout.inputDirections, i) != 0;
                auto slice = sliceAt(values[layout.states + i], axes[i],
                                     backwards ? length - 1 - step : step);
                if (!slice)
                    return failure(slice.error());
                arguments.push_back(std::move(*slice));
            }
            auto results = m_body(std::move(arguments));
            if (!results)
                return results;
            if (results->size() < layout.states + outputs)
                return badInput(m_node, "the body has too few outputs");
            for (size_t i = 0; i < layout.states; ++i)
                states[i] = std::move((*results)[i]);
            if (auto added = add(collected, *results, layout.states); !added)
                return failure(added.error());
        }
        for (size_t i = 0; i < outputs; ++i) {
            auto stack = stacked(collected[i], ScanLayout::at(layout.outputAxes, i),
                                 ScanLayout::at(layout.outputDirections, i) != 0,
                                 bodyOutputType(m_node, layout.states + i));
            if (!stack)
                return failure(stack.error());
            states.push_back(std::move(*stack));
        }
        return states;
    }

    /// Opset 8: every batch entry on its own, the results stacked.
    Several scanBatches(std::span<const Value* const> inputs) const {
        const auto layout = ScanLayout::of(m_node, inputs.size() - 1);
        if (!layout || inputs[0])
            return badInput(m_node, "`sequence_lens` of opset 8 is not supported");
        int64_t batch = -1;
        for (size_t i = 1; i < inputs.size(); ++i) {
            if (!inputs[i] || Values::extents(*inputs[i]).empty() ||
                (batch >= 0 && Values::extents(*inputs[i])[0] != batch))
                return badInput(m_node, "the inputs have no common batch axis");
            batch = Values::extents(*inputs[i])[0];
        }
        std::vector<Collected> collected(m_node.outputs.size());
        for (int64_t b = 0; b < batch; ++b) {
            std::vector<Value> values;
            for (size_t i = 1; i < inputs.size(); ++i) {
                auto slice = sliceAt(*inputs[i], 0, b);
                if (!slice)
                    return failure(slice.error());
                values.push_back(std::move(*slice));
            }
            auto results = scanOnce(*layout, std::move(values));
            if (!results)
                return results;
            if (auto added = add(collected, *results, 0); !added)
                return failure(added.error());
        }
        std::vector<Value> out;
        for (size_t i = 0; i < collected.size(); ++i) {
            auto stack = stacked(collected[i], 0, false, bodyOutputType(m_node, i));
            if (!stack)
                return failure(stack.error());
            out.push_back(std::move(*stack));
        }
        return out;
    }

    const Node& m_node;
    RunBody m_body;
};

} // namespace fuselage
