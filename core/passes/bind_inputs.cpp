// SPDX-License-Identifier: Apache-2.0
// Sizes of dimensions from tensors that a person gives.
#include "core/passes/dimensions.h"
#include "core/passes/dimensions_internal.h"
#include "core/passes/inference.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

std::string twoSizes(const std::string& name, const InputAxis& a, int64_t sizeA, const InputAxis& b,
                     int64_t sizeB) {
    return fmt::format("dimension `{}` has two sizes, {} = {} and {} = {}: each axis is its own",
                       name, a.name, sizeA, b.name, sizeB);
}

/// Error "run.input": the tensor has another element type, rank or number than the input.
Result<void> fitsInput(const Value& input, const Tensor& given) {
    const Type& type = input.type;
    bool fits = type.kind == TypeKind::Tensor && type.dtype == given.dtype() &&
                (!type.shape || type.rank() == given.extents().size());
    for (size_t axis = 0; fits && type.shape && axis < type.rank(); ++axis) {
        const Dim& dim = (*type.shape)[axis];
        fits = !dim.isNumber() || dim.value() == given.extents()[axis];
    }
    if (fits)
        return {};
    return failure("run.input",
                   fmt::format("the tensor given for input `{}` is {}, the input is {}", input.name,
                               given.type().text(), type.text()),
                   {}, "give a tensor of the input's type");
}

/// Error "dim.contradiction" where a person says another size than the inputs have.
Result<void> agreeWithInputs(const Graph& graph, const std::vector<InputAxis>& axes,
                             const std::vector<int64_t>& sizes, const DimensionValues& given) {
    for (const auto& [name, size] : given) {
        const std::vector<size_t> meant = axesNamed(axes, name);
        if (meant.empty())
            return failure(unknownDimension(name, graph));
        for (size_t i : meant)
            if (sizes[i] != size)
                return failure("dim.contradiction",
                               fmt::format("`{}` is given as {}, but axis {} of the given input "
                                           "`{}` is {}",
                                           name, size, axes[i].axis,
                                           graph.value(axes[i].input).name, sizes[i]),
                               {}, fmt::format("leave out --dim {}, or give other inputs", name));
    }
    return {};
}

/// What tensors say of the open dimensions of a graph's inputs.
struct GivenSizes {
    DimensionValues values;
    std::set<std::string> ambiguous; ///< names with two sizes: the first is taken
};

Result<GivenSizes> givenSizes(Graph& graph, std::span<const Tensor> inputs,
                              const DimensionValues& given, std::vector<std::string>& notes) {
    nameInputDimensions(graph);
    if (inputs.size() != graph.inputs().size())
        return failure("run.input", fmt::format("the model has {} inputs, {} are given",
                                                graph.inputs().size(), inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i)
        if (auto fits = fitsInput(graph.value(graph.inputs()[i]), inputs[i]); !fits)
            return failure(fits.error());
    const std::vector<InputAxis> axes = inputAxes(graph);
    std::vector<int64_t> sizes;
    for (const InputAxis& axis : axes) {
        auto at = std::find(graph.inputs().begin(), graph.inputs().end(), axis.input);
        const auto input = static_cast<size_t>(at - graph.inputs().begin());
        sizes.push_back(inputs[input].extents()[axis.axis]);
    }
    if (auto agree = agreeWithInputs(graph, axes, sizes, given); !agree)
        return failure(agree.error());
    std::map<std::string, size_t> first;
    GivenSizes out;
    for (size_t i = 0; i < axes.size(); ++i) {
        if (!axes[i].dim.isSymbolic())
            continue;
        const std::string name = axes[i].dim.text();
        const size_t at = first.emplace(name, i).first->second;
        out.values[name] = sizes[at];
        if (sizes[at] != sizes[i] && out.ambiguous.insert(name).second)
            notes.push_back(twoSizes(name, axes[at], sizes[at], axes[i], sizes[i]));
    }
    return out;
}

} // namespace

Result<void> bindToInputs(Graph& graph, std::span<const Tensor> inputs,
                          const DimensionValues& given, std::vector<std::string>& notes) {
    auto sizes = givenSizes(graph, inputs, given, notes);
    if (!sizes)
        return failure(sizes.error());
    forgetInside(graph, sizes->ambiguous);
    for (size_t i = 0; i < inputs.size(); ++i)
        graph.setType(graph.inputs()[i], inputs[i].type());
    bindTypes(graph, sizes->values);
    return {};
}

Result<DimensionValues> sizesOfInputs(Graph& graph, std::span<const Tensor> inputs,
                                      const DimensionValues& given,
                                      std::vector<std::string>& notes) {
    auto sizes = givenSizes(graph, inputs, given, notes);
    if (!sizes)
        return failure(sizes.error());
    return std::move(sizes->values);
}

} // namespace fuselage
