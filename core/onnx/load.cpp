// SPDX-License-Identifier: Apache-2.0
// Files and bytes -> ModelProto -> Graph.
#include "core/onnx/reader_internal.h"

#include <climits>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace fuselage::model_io {

namespace fs = std::filesystem;

namespace {

constexpr int64_t newestIrVersion = 13;

/// Nested messages: a subgraph takes three levels (graph, node, attribute).
constexpr int maxNesting = 3 * maxDepth + 50;

bool parse(::onnx::ModelProto& model, google::protobuf::io::CodedInputStream& stream) {
    stream.SetTotalBytesLimit(INT_MAX);
    stream.SetRecursionLimit(maxNesting);
    return model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

Failure notReadable(const std::string& where) {
    return failure("load.parse", "not an ONNX model, or truncated", where,
                   "check the file; export or download it again");
}

Failure tooLargeForProtobuf(const std::string& where) {
    return failure("load.too_large", "model files are limited to 2 GiB", where,
                   "store the weights as external data beside the model");
}

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

Result<Graph> readModel(::onnx::ModelProto& model, const std::string& folder,
                        const std::string& where, const LoadOptions& options, Progress& progress) {
    if (auto ok = checkHeader(model, where); !ok)
        return failure(ok.error());
    if (options.notes && model.ir_version() > newestIrVersion)
        options.notes->push_back(
            fmt::format("IR version {} is newer than {}", model.ir_version(), newestIrVersion));
    ExternalData external(folder, options.maxFileBytes);
    return Reader(model, external, options, progress).read();
}

/// Closes its file descriptor.
struct OpenFile {
    explicit OpenFile(const std::string& path)
        : handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

    ~OpenFile() {
        if (handle >= 0)
            ::close(handle);
    }

    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    int handle;
};

} // namespace

Result<Graph> load(const std::string& path, const LoadOptions& options, Progress& progress) {
    std::error_code failed;
    if (!fs::exists(path, failed))
        return failure("load.missing", "the file does not exist", path, "check the path");
    if (!fs::is_regular_file(path, failed))
        return failure("load.missing", "not a regular file", path,
                       "give the path of an .onnx file");
    uintmax_t size = fs::file_size(path, failed);
    if (failed || size > options.maxFileBytes)
        return failure(
            "load.too_large",
            fmt::format("the file exceeds the limit maxFileBytes = {}", options.maxFileBytes), path,
            "raise the limit");
    if (size > INT_MAX)
        return tooLargeForProtobuf(path);
    OpenFile file(path);
    if (file.handle < 0)
        return failure("load.missing", "the file cannot be opened", path, "check its permissions");
    progress.report("load", 0, 0);
    ::onnx::ModelProto model;
    {
        google::protobuf::io::FileInputStream bytes(file.handle, 1 << 20);
        google::protobuf::io::CodedInputStream stream(&bytes);
        if (!parse(model, stream))
            return notReadable(path);
    }
    if (progress.cancelled())
        return cancelledFailure("load");
    return readModel(model, fs::path(path).parent_path().string(), path, options, progress);
}

Result<Graph> loadBytes(std::string_view bytes, const std::string& folder,
                        const LoadOptions& options) {
    if (bytes.size() > INT_MAX)
        return tooLargeForProtobuf({});
    ::onnx::ModelProto model;
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                  static_cast<int>(bytes.size()));
    if (!parse(model, stream))
        return notReadable({});
    Progress silent;
    return readModel(model, folder, {}, options, silent);
}

} // namespace fuselage::model_io
