// SPDX-License-Identifier: Apache-2.0
// Graph -> ModelProto -> bytes and files.
#include "core/onnx/data_file_internal.h"
#include "core/onnx/file_internal.h"
#include "core/onnx/model_bytes_internal.h"
#include "core/onnx/model_file.h"
#include "core/onnx/writer_internal.h"
#include "core/ops/op_schema.h"
#include "core/support/file.h"
#include "core/support/links.h"

#include <climits>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace fuselage::model_io {

namespace {

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

/// The file's bytes, as long as protobuf can read them.
Result<ModelBytes> fileOf(::onnx::ModelProto model, const std::vector<LargeInitializer>& large,
                          const std::string& where) {
    ModelBytes bytes(std::move(model), large);
    if (bytes.size() > INT_MAX)
        return tooLarge(where);
    return bytes;
}

} // namespace

Result<std::string> toBytesOf(const Graph& graph, int64_t least) {
    if (auto ok = checkAllKept(graph, least); !ok)
        return failure(ok.error());
    Writer writer(graph, least);
    ::onnx::ModelProto model = writer.write();
    auto bytes = fileOf(std::move(model), writer.large(), graph.name());
    if (!bytes)
        return failure(bytes.error());
    return bytes->text();
}

Result<std::string> toBytes(const Graph& graph) {
    return toBytesOf(graph, normalOpset);
}

namespace {

/// A slip of the name costs what is there, e.g. the weights of the model that was just read.
Result<void> checkMayReplace(const std::string& path) {
    std::error_code failed;
    const std::filesystem::path file(path);
    if (file.extension() == ".onnx" || !std::filesystem::is_regular_file(file, failed) ||
        std::filesystem::file_size(file, failed) == 0)
        return {};
    ::onnx::ModelProto model;
    if (parseFile(path, INT_MAX, model) && model.has_graph())
        return {};
    return failure("usage.output", "the file is there already and is no ONNX model", path,
                   "give another name, or remove the file first");
}

/// A data file whose model was not written is nobody's; one that was there may be another's, and so
/// may one that another process has put in the place of this one.
class NewDataFile {
public:
    explicit NewDataFile(const std::string& path) : m_path(path) {
        m_isNew = !identityOf(path).has_value();
    }

    NewDataFile(const NewDataFile&) = delete;
    NewDataFile& operator=(const NewDataFile&) = delete;

    ~NewDataFile() {
        std::error_code failed;
        if (m_isNew && m_written && identityOf(m_path) == m_written)
            std::filesystem::remove(m_path, failed);
    }

    /// The file is there, by this process.
    void written() { m_written = identityOf(m_path); }

    void keep() { m_isNew = false; }

private:
    using Identity = std::pair<dev_t, ino_t>;

    static std::optional<Identity> identityOf(const std::string& path) {
        struct stat facts {};
        if (::stat(path.c_str(), &facts) != 0)
            return {};
        return Identity(facts.st_dev, facts.st_ino);
    }

    std::string m_path;
    bool m_isNew = false;
    std::optional<Identity> m_written;
};

Result<SavedFiles> saveWith(const Graph& graph, const std::string& given,
                            const SaveOptions& options, int64_t least) {
    const std::string path = behindLinks(given); // its data belong beside it
    if (auto ok = checkMayReplace(path); !ok)
        return failure(ok.error());
    if (auto ok = checkAllKept(graph, least); !ok)
        return failure(ok.error());
    SavedFiles out;
    Writer writer(graph, least);
    ::onnx::ModelProto model = writer.write();
    std::vector<LargeInitializer> large = writer.large();
    std::optional<NewDataFile> written;
    if (bytesOf(large) > options.externalAbove) {
        const std::vector<FilePiece> pieces = piecesOf(large);
        const std::string name = dataFileName(path, pieces);
        moveToDataFile(large, pieces, name);
        out.data = (std::filesystem::path(path).parent_path() / name).string();
        out.dataBytes = pieces.back().offset + pieces.back().size;
        written.emplace(out.data);
        if (auto ok = writeFile(pieces, out.data, options.progress); !ok)
            return failure(ok.error());
        written->written();
        large.clear();
    }
    const std::string before = dataFileOf(path);
    auto bytes = fileOf(std::move(model), large, path);
    if (!bytes)
        return failure(bytes.error());
    if (auto ok = writeFile(bytes->pieces(), path, options.progress); !ok)
        return failure(ok.error());
    if (written)
        written->keep();
    if (!before.empty())
        out.dataBefore = (std::filesystem::path(path).parent_path() / before).string();
    if (out.dataBefore == out.data)
        out.dataBefore.clear();
    return out;
}

} // namespace

Result<SavedFiles> save(const Graph& graph, const std::string& path, const SaveOptions& options) {
    return saveWith(graph, path, options, normalOpset);
}

Result<SavedFiles> saveOf(const Graph& graph, const std::string& path, int64_t least,
                          const SaveOptions& options) {
    return saveWith(graph, path, options, least);
}

} // namespace fuselage::model_io
