// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/inputs.h"

#include "app/pipeline/whole_numbers.h"
#include "core/onnx/model_file.h"
#include "core/onnx/npy_file.h"
#include "core/ops/tensor_index.h"
#include "core/support/checked.h"
#include "core/support/memory.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <random>

namespace fuselage::app {

namespace {

/// The extent that the elements of an index are below; none where the use is no index.
std::optional<int64_t> extentIndexed(const Graph& graph, const Use& use) {
    const Node& node = graph.node(use.node);
    if (use.slot != 1 || !node.inputs[0].valid())
        return std::nullopt;
    const std::optional<Shape>& table = graph.value(node.inputs[0]).type.shape;
    if (!table)
        return std::nullopt;
    const auto extentOf = [&](size_t axis) -> std::optional<int64_t> {
        const auto extent = (*table)[axis].number();
        return extent ? std::optional(std::max<int64_t>(*extent, 1)) : std::nullopt;
    };
    switch (node.op) {
    case Op::Gather:
    case Op::GatherElements:
    case Op::ScatterElements: {
        const auto axis = normalizedAxis(node.attributes.integer("axis"), table->size());
        return axis ? extentOf(*axis) : std::nullopt;
    }
    case Op::GatherND:
    case Op::ScatterND: { // rows of places: the smallest extent holds for each
        const auto index = graph.value(node.inputs[1]).type.extents();
        if (!index || index->empty())
            return std::nullopt;
        // A file may say more of both than the table has dimensions.
        const auto rank = static_cast<int64_t>(table->size());
        const int64_t first =
            node.op == Op::GatherND
                ? std::clamp<int64_t>(node.attributes.integer("batch_dims"), 0, rank)
                : 0;
        std::optional<int64_t> least;
        for (int64_t i = first; i - first < index->back() && i < rank; ++i)
            if (const auto extent = extentOf(static_cast<size_t>(i)))
                least = std::min(least.value_or(*extent), *extent);
        return least;
    }
    default:
        return std::nullopt;
    }
}

/// What is added to a value before it is an index, at most: 0 for other nodes, none where nobody
/// knows.
std::optional<int64_t> mostAdded(const Graph& graph, const Use& use) {
    const Node& node = graph.node(use.node);
    if (node.op != Op::Add || node.inputs.size() != 2)
        return 0;
    const ValueId other = node.inputs[1 - use.slot];
    const TensorPtr added = other.valid() ? graph.value(other).constant : nullptr;
    if (!added || !isInteger(added->dtype()) || added->elementCount() == 0)
        return std::nullopt;
    int64_t most = 0;
    for (int64_t i = 0; i < added->elementCount(); ++i)
        most = std::max(most, added->intAt(i));
    return most;
}

/// Whether elements of the node's first result are elements of this operand, or little else.
bool passesOn(const Node& node, uint32_t slot) {
    if (node.outputs.empty() || !node.outputs[0].valid())
        return false;
    return slot == 0 || node.op == Op::Concat || (node.op == Op::Add && slot == 1) ||
           (node.op == Op::Where && slot > 0);
}

/// The smallest extent of a table that this value indexes, through any chain of views, casts, parts
/// and constant offsets.
int64_t indexLimit(const Graph& graph, ValueId id, int depth = 0) {
    int64_t limit = INT64_MAX;
    if (depth > 12)
        return limit;
    for (const Use& use : graph.value(id).uses) {
        if (const auto extent = extentIndexed(graph, use)) {
            limit = std::min(limit, *extent);
        } else if (passesOn(graph.node(use.node), use.slot)) {
            const int64_t behind = indexLimit(graph, graph.node(use.node).outputs[0], depth + 1);
            if (behind != INT64_MAX)
                limit = std::min(limit,
                                 std::max<int64_t>(behind - mostAdded(graph, use).value_or(0), 1));
        }
    }
    return limit;
}

bool holdsWhole(DType type, int64_t whole) {
    return type == DType::Bool     ? whole == 0 || whole == 1
           : type == DType::UInt64 ? whole >= 0
                                   : wrapTo(type, whole) == whole;
}

bool holds(DType type, const InputNumber& asked) {
    const double number = asked.real;
    if (isFloat(type)) { // a number beyond the type's largest would become infinite
        Tensor one(type, {});
        one.set(0, number);
        return !std::isfinite(number) || std::isfinite(one.at(0));
    }
    if (asked.whole)
        return holdsWhole(type, *asked.whole);
    constexpr double end = 9223372036854775808.0; // of int64
    return number == std::floor(number) && number >= -end && number < end &&
           holdsWhole(type, static_cast<int64_t>(number));
}

bool isNamed(const Value& value, std::initializer_list<const char*> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](const char* part) {
        return value.name.find(part) != std::string::npos;
    });
}

/// What says how many rows of a cache count, as decoders name it: all that the cache has, so that a
/// run looks at them. None of other inputs and without a cache of [batch, heads, rows, depth].
std::optional<int64_t> rowsOfCache(const Graph& graph, const Value& length) {
    const bool isTotal = isNamed(length, {"total_sequence_length"});
    if (!isInteger(length.type.dtype) || !(isTotal || isNamed(length, {"seqlens"})))
        return std::nullopt;
    for (ValueId id : graph.inputs()) {
        const Value& value = graph.value(id);
        const auto extents = value.type.extents();
        const bool isCache = extents && extents->size() == 4 && isNamed(value, {"past", "cache"});
        if (isCache && (*extents)[2] > 0)
            return (*extents)[2] - (isTotal ? 0 : 1); // `seqlens` is one less than all
    }
    return std::nullopt;
}

Tensor generate(const Graph& graph, ValueId id, const Extents& extents, std::mt19937_64& random) {
    const Value& value = graph.value(id);
    Tensor tensor(value.type.dtype, extents);
    if (value.type.dtype == DType::String)
        return tensor;
    if (isFloat(value.type.dtype)) {
        std::normal_distribution<double> normal(0, 1);
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            tensor.set(i, normal(random));
        return tensor;
    }
    if (const auto rows = rowsOfCache(graph, value)) {
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            tensor.setInt(i, *rows);
        return tensor;
    }
    int64_t limit = indexLimit(graph, id);
    const bool isMask = isNamed(value, {"mask"});
    const bool counts = isNamed(value, {"seqlens", "sequence_length"});
    const IntegerUse use = isInteger(value.type.dtype) && !isMask && !counts && limit == INT64_MAX
                               ? integerUse(graph, id)
                               : IntegerUse::Structure;
    std::uniform_int_distribution<int64_t> uniform(0, limit == INT64_MAX ? 1 : limit - 1);
    for (int64_t i = 0; i < tensor.elementCount(); ++i)
        tensor.setInt(i, isMask ? 1
                         : use == IntegerUse::Structure
                             ? uniform(random)
                             : integerFor(use, value.type.dtype, random()));
    return tensor;
}

} // namespace

Result<std::vector<Tensor>> generateInputs(const Graph& graph, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Tensor> inputs;
    std::optional<int64_t> total = 0;
    for (ValueId id : graph.inputs()) {
        auto extents = graph.value(id).type.extents();
        if (!extents || !elementCount(*extents) || graph.value(id).type.kind != TypeKind::Tensor)
            return failure(
                "run.input",
                "no input can be generated for `" + graph.value(id).name +
                    "`: " + graph.value(id).type.text(),
                "",
                graph.value(id).type.kind != TypeKind::Tensor
                    ? "a run can be given tensors only: export the model with one in its "
                      "place"
                    : "give a tensor for it with --inputs");
        // Strings count as their objects.
        auto elementBytes = std::max(sizeOf(graph.value(id).type.dtype), sizeof(std::string));
        auto bytes = checkedMultiply(*elementCount(*extents), static_cast<int64_t>(elementBytes));
        total = bytes ? checkedAdd(*total, *bytes) : std::nullopt;
        if (!total || !fitsInMemory(*total))
            return failure("resource.memory",
                           "input `" + graph.value(id).name + "` of type " +
                               graph.value(id).type.text() + " does not fit into memory",
                           "", "give smaller dimensions, e.g. --dim N=1");
        inputs.push_back(generate(graph, id, *extents, random));
    }
    return inputs;
}

std::optional<InputNumber> inputNumber(std::string_view text) {
    const char* end = text.data() + text.size();
    const auto reads = [&](auto& number) {
        const auto parsed = std::from_chars(text.data(), end, number);
        return parsed.ec == std::errc() && parsed.ptr == end;
    };
    InputNumber out;
    int64_t whole = 0;
    if (!reads(out.real))
        return std::nullopt;
    if (reads(whole))
        out.whole = whole;
    return out;
}

Result<void> setInputs(const Graph& graph, const InputNumbers& numbers,
                       std::vector<Tensor>& inputs) {
    for (const auto& [name, number] : numbers) {
        const auto named = std::find_if(graph.inputs().begin(), graph.inputs().end(),
                                        [&](ValueId id) { return graph.value(id).name == name; });
        if (named == graph.inputs().end())
            return failure("run.set", "the model has no input `" + name + "`", "--set",
                           "one of: " + joined(graph.inputs(),
                                               [&](ValueId id) { return graph.value(id).name; }));
        Tensor& tensor = inputs[static_cast<size_t>(named - graph.inputs().begin())];
        const DType type = tensor.dtype();
        if (type == DType::String || !holds(type, number))
            return failure("run.set",
                           fmt::format("input `{}` is {}, which has no {}", name, nameOf(type),
                                       number.whole ? std::to_string(*number.whole)
                                                    : fmt::format("{}", number.real)),
                           "--set", "give a number of this type, or a file with --inputs");
        for (int64_t i = 0; i < tensor.elementCount(); ++i) {
            if (number.whole && !isFloat(type))
                tensor.setInt(i, *number.whole);
            else
                tensor.set(i, number.real);
        }
    }
    return {};
}

namespace {

std::string fileOf(const std::string& folder, size_t number, const char* kind) {
    return folder + "/input_" + std::to_string(number) + kind;
}

bool isThere(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

/// "a.npy"; empty for a name that is no file's.
std::string namedFile(const std::string& input) {
    return input.find_first_of("/\\") == std::string::npos && !input.empty() ? input + ".npy" : "";
}

bool isInput(const Graph& graph, const std::string& name) {
    return std::any_of(graph.inputs().begin(), graph.inputs().end(),
                       [&](ValueId id) { return graph.value(id).name == name; });
}

/// What there may be for an input: by its number, unless that is the name of an input, or by name.
std::vector<std::string> filesOf(const std::string& folder, const Graph& graph, size_t input) {
    const std::string named = namedFile(graph.value(graph.inputs()[input]).name);
    std::vector<std::string> out{fileOf(folder, input, ".pb")};
    if (!isInput(graph, "input_" + std::to_string(input)))
        out.push_back(fileOf(folder, input, ".npy"));
    if (!named.empty())
        out.push_back(folder + '/' + named);
    std::erase_if(out, [](const std::string& path) { return !isThere(path); });
    return out;
}

/// `name`: the input's, where the file says so.
Result<Tensor> readTensor(const std::string& folder, const Graph& graph, size_t input,
                          std::string& name) {
    const std::string& own = graph.value(graph.inputs()[input]).name;
    const Type& type = graph.value(graph.inputs()[input]).type;
    if (type.kind != TypeKind::Tensor)
        return failure(
            "run.input",
            fmt::format("input `{}` is {}: a run can be given tensors only", own, type.text()),
            folder, "export the model with a tensor in its place");
    const std::vector<std::string> there = filesOf(folder, graph, input);
    if (there.size() > 1)
        return failure("run.input", fmt::format("`{}` has another file, {}", own, there[1]),
                       there[0], "take one of them away");
    if (there.empty())
        return failure("load.missing", "the file does not exist", fileOf(folder, input, ".pb"),
                       fmt::format("input_{}.npy{} will do as well", input,
                                   namedFile(own).empty() ? "" : " or " + namedFile(own)));
    if (!there[0].ends_with(".npy"))
        return model_io::loadTensor(there[0], &name);
    if (there[0] == folder + '/' + namedFile(own))
        name = own;
    return model_io::loadNpy(there[0]);
}

/// A file beyond the last input: of another model, or for a value that this one holds already.
Result<void> refuseMore(const std::string& folder, const Graph& graph) {
    const size_t count = graph.inputs().size();
    std::string path = fileOf(folder, count, ".pb"), name;
    if (isThere(path)) {
        if (!model_io::loadTensor(path, &name))
            return {};
    } else {
        path = fileOf(folder, count, ".npy");
        if (!isThere(path) || isInput(graph, "input_" + std::to_string(count)))
            return {};
    }
    for (ValueId id : graph.values())
        if (!name.empty() && graph.value(id).name == name)
            return failure("run.input",
                           "`" + name + "` has its value in the model, which is what runs", path,
                           "take it out of the model's initializers, or take the file away");
    return failure("run.input",
                   fmt::format("the model has {} input{}", graph.inputs().size(),
                               graph.inputs().size() == 1 ? "" : "s"),
                   path, "take the file away, or give data of this model");
}

} // namespace

std::string inputFile(const std::string& folder, const Graph& graph, size_t input) {
    const std::vector<std::string> there = filesOf(folder, graph, input);
    return there.empty() ? fileOf(folder, input, ".pb") : there[0];
}

Result<std::vector<Tensor>> readTensors(const std::string& folder, const Graph& graph) {
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error))
        return failure("run.input",
                       isThere(folder) ? "this is no folder" : "this folder does not exist", folder,
                       "give the folder of input_0.pb, input_0.npy or NAME.npy");
    const size_t count = graph.inputs().size();
    std::vector<Tensor> read(count);
    std::vector<size_t> place(count, count); // by name
    std::vector<bool> given(count, false);
    for (size_t i = 0; i < count; ++i) {
        std::string name;
        auto tensor = readTensor(folder, graph, i, name);
        if (!tensor)
            return failure(tensor.error());
        read[i] = std::move(*tensor);
        for (size_t input = 0; input < count; ++input)
            if (graph.value(graph.inputs()[input]).name == name && !given[input]) {
                place[i] = input;
                given[input] = true;
            }
    }
    if (auto more = refuseMore(folder, graph); !more)
        return failure(more.error());
    const bool allNamed = std::all_of(given.begin(), given.end(), [](bool is) { return is; });
    std::vector<Tensor> out(count);
    for (size_t i = 0; i < count; ++i) {
        if (!allNamed && place[i] != count && place[i] != i)
            return failure("run.input",
                           "this is `" + graph.value(graph.inputs()[place[i]]).name +
                               "`, which is input " + std::to_string(place[i]) +
                               ", and others have no input's name",
                           inputFile(folder, graph, i), "name every file by its input, or none");
        out[allNamed ? place[i] : i] = std::move(read[i]);
    }
    return out;
}

} // namespace fuselage::app
