// SPDX-License-Identifier: Apache-2.0
// Graph -> ModelProto -> bytes and files.
#include "core/onnx/file_internal.h"
#include "core/onnx/model_file.h"
#include "core/onnx/writer_internal.h"
#include "core/ops/op_schema.h"
#include "core/support/file.h"

#include <climits>
#include <fmt/format.h>

#include <filesystem>

namespace fuselage::model_io {

namespace {

/// Tensors below this stay in the model file.
constexpr size_t smallBytes = 1024;
/// Page size: each tensor of a data file can be mapped on its own.
constexpr uint64_t dataAlignment = 4096;

Failure tooLarge(const std::string& where) {
    return failure("save.too_large", "a model file is limited to 2 GiB", where,
                   "save to a path, so that weights can go to a data file");
}

/// A kept node can be written when its operator is the same in the opset of the file.
bool isSameOperator(const Node& node, int64_t imported, int64_t saved) {
    const OpSchema* then = publishedSchema("", node.customOp, imported);
    const OpSchema* now = publishedSchema("", node.customOp, saved);
    return then && now && then->since == now->since;
}

/// Operators that were kept because their old form has no equal cannot be written as today's.
Result<void> checkKept(const Graph& graph, int64_t imported, int64_t saved) {
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (node.op == Op::Unknown && node.customDomain.empty() && !node.notComputed.empty() &&
            !isSameOperator(node, imported, saved))
            return failure("save.opset",
                           fmt::format("the form that `{}` has in opset {} does not exist in "
                                       "opset {}",
                                       node.customOp, imported, saved),
                           node.name, fmt::format("convert the model to opset {} before", saved));
        Result<void> inside;
        forSubgraphs(node, [&](const std::string&, const Graph& subgraph) {
            if (inside)
                inside = checkKept(subgraph, imported, saved);
        });
        if (!inside)
            return inside;
    }
    return {};
}

Result<void> checkAllKept(const Graph& graph, int64_t leastOpset) {
    auto imported = graph.opsetImports.find("");
    return imported == graph.opsetImports.end()
               ? Result<void>()
               : checkKept(graph, imported->second, opsetFor(graph, leastOpset));
}

Result<std::string> serialise(const ::onnx::ModelProto& model, const std::string& where) {
    std::string bytes;
    if (model.ByteSizeLong() > INT_MAX || !model.SerializeToString(&bytes))
        return tooLarge(where);
    return bytes;
}

void addEntry(::onnx::TensorProto& tensor, const char* key, const std::string& value) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
}

/// Takes the data of large initializers out of the model; the strings stay alive in `kept`.
std::vector<FilePiece> moveOut(::onnx::ModelProto& model, const std::string& file,
                               std::vector<std::string>& kept) {
    std::vector<FilePiece> pieces;
    uint64_t offset = 0;
    kept.reserve(static_cast<size_t>(model.graph().initializer_size()));
    for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
        if (tensor.raw_data().size() < smallBytes)
            continue;
        kept.push_back(std::move(*tensor.mutable_raw_data()));
        tensor.clear_raw_data();
        const std::string& data = kept.back();
        tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
        addEntry(tensor, "location", file);
        addEntry(tensor, "offset", std::to_string(offset));
        addEntry(tensor, "length", std::to_string(data.size()));
        pieces.push_back({offset, reinterpret_cast<const std::byte*>(data.data()), data.size()});
        offset = (offset + data.size() + dataAlignment - 1) / dataAlignment * dataAlignment;
    }
    return pieces;
}

size_t initializerBytes(const ::onnx::ModelProto& model) {
    size_t sum = 0;
    for (const auto& tensor : model.graph().initializer())
        sum += tensor.raw_data().size();
    return sum;
}

} // namespace

Result<std::string> toBytesOf(const Graph& graph, int64_t least) {
    if (auto ok = checkAllKept(graph, least); !ok)
        return failure(ok.error());
    return serialise(Writer(graph, least).write(), graph.name());
}

Result<std::string> toBytes(const Graph& graph) {
    return toBytesOf(graph, normalOpset);
}

namespace {

Result<void> saveWith(const Graph& graph, const std::string& path, const SaveOptions& options,
                      int64_t least) {
    if (auto ok = checkAllKept(graph, least); !ok)
        return ok;
    ::onnx::ModelProto model = Writer(graph, least).write();
    if (initializerBytes(model) > options.externalAbove) {
        std::string dataPath = path + ".data";
        std::vector<std::string> kept;
        std::vector<FilePiece> pieces =
            moveOut(model, std::filesystem::path(dataPath).filename().string(), kept);
        if (auto ok = writeFile(pieces, dataPath); !ok)
            return ok;
    }
    auto bytes = serialise(model, path);
    if (!bytes)
        return failure(bytes.error());
    return writeFile(*bytes, path);
}

} // namespace

Result<void> save(const Graph& graph, const std::string& path, const SaveOptions& options) {
    return saveWith(graph, path, options, normalOpset);
}

Result<void> saveOf(const Graph& graph, const std::string& path, int64_t least) {
    return saveWith(graph, path, {}, least);
}

} // namespace fuselage::model_io
