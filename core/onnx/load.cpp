// SPDX-License-Identifier: Apache-2.0
// Files and bytes -> ModelProto -> Graph.
#include "core/onnx/file_internal.h"
#include "core/onnx/reader_internal.h"

#include <fmt/format.h>

#include <filesystem>

namespace fuselage::model_io {

namespace {

constexpr int64_t newestIrVersion = 13;

Result<void> checkHeader(const ::onnx::ModelProto& model, const std::string& where) {
    if (!model.has_ir_version() || !model.has_graph())
        return failure("load.not_onnx", "the file holds no ONNX model", where,
                       "give the path of an .onnx file");
    if (model.ir_version() < 1)
        return failure("load.ir_version",
                       fmt::format("IR version {} does not exist", model.ir_version()), where,
                       "export the model again");
    if (model.graph().node_size() == 0 && model.graph().output_size() == 0)
        return failure("load.not_onnx", "the graph has no nodes and no outputs", where,
                       "give the path of an .onnx file");
    return {};
}

/// Where the data files of a model may lie: beside it, and where it is a link, beside the file that
/// this leads to. A store of downloads keeps all its files in one folder and links to them.
std::vector<std::string> foldersOf(const std::filesystem::path& path) {
    std::vector<std::string> out{path.parent_path().string()};
    std::error_code failed;
    if (std::filesystem::is_symlink(path, failed))
        if (const auto real = std::filesystem::canonical(path, failed); !failed)
            out.push_back(real.parent_path().string());
    return out;
}

Result<Graph> readModel(::onnx::ModelProto& model, const std::vector<std::string>& folders,
                        const std::string& where, const LoadOptions& options, Progress& progress) {
    if (auto ok = checkHeader(model, where); !ok)
        return failure(ok.error());
    if (options.notes && model.ir_version() > newestIrVersion)
        options.notes->push_back(
            fmt::format("IR version {} is newer than {}", model.ir_version(), newestIrVersion));
    ExternalData external(folders, options.maxFileBytes);
    return Reader(model, external, options, progress).read();
}

} // namespace

Result<Graph> load(const std::string& path, const LoadOptions& options, Progress& progress) {
    progress.report("load", 0, 0);
    ::onnx::ModelProto model;
    if (auto ok = parseFile(path, options.maxFileBytes, model); !ok)
        return failure(ok.error());
    if (progress.cancelled())
        return cancelledFailure("load");
    return readModel(model, foldersOf(path), path, options, progress);
}

Result<Graph> loadBytes(std::string_view bytes, const std::string& folder,
                        const LoadOptions& options) {
    ::onnx::ModelProto model;
    if (auto ok = parseBytes(bytes, model); !ok)
        return failure(ok.error());
    Progress silent;
    return readModel(model, {folder}, {}, options, silent);
}

} // namespace fuselage::model_io
