// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/file_internal.h"
#include "core/onnx/file_kind.h"
#include "core/onnx/mapped_file_internal.h"
#include "core/onnx/node_order_internal.h"

#include <climits>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <filesystem>

namespace fuselage::model_io {

namespace fs = std::filesystem;

namespace {

/// Nested messages: a subgraph takes three levels (graph, node, attribute).
constexpr int maxNesting = 3 * maxDepth + 50;

Result<void> parse(google::protobuf::Message& message, std::string_view bytes,
                   const std::string& where) {
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                  static_cast<int>(bytes.size()));
    stream.SetTotalBytesLimit(INT_MAX);
    stream.SetRecursionLimit(maxNesting);
    if (message.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage())
        return {};
    if (const FileKind* kind = kindOf(bytes))
        return failure("load.parse", fmt::format("not an ONNX file but {}", kind->what), where,
                       kind->fix);
    return failure("load.parse", "not an ONNX file, or truncated", where,
                   "check the file; export or download it again");
}

Failure tooLarge(const std::string& where) {
    return failure("load.too_large", "model files are limited to 2 GiB", where,
                   "store the weights as external data beside the model");
}

} // namespace

Result<void> parseFile(const std::string& path, size_t maxBytes,
                       google::protobuf::Message& message) {
    std::error_code failed;
    if (!fs::exists(path, failed))
        return failure("load.missing", "the file does not exist", path, "check the path");
    if (fs::is_directory(path, failed))
        return failure("load.missing", "a folder, not a file", path, adviceForFolder(path));
    if (!fs::is_regular_file(path, failed))
        return failure("load.missing", "not a regular file", path, "give the path of a file");
    uintmax_t size = fs::file_size(path, failed);
    if (failed || size > maxBytes)
        return failure("load.too_large",
                       fmt::format("the file exceeds the limit maxFileBytes = {}", maxBytes), path,
                       "raise the limit");
    if (size > INT_MAX)
        return tooLarge(path);
    auto file = MappedFile::open(path);
    if (!file)
        return failure("load.missing", "the file cannot be opened", path, "check its permissions");
    if (file->size() > INT_MAX) // it grew meanwhile
        return tooLarge(path);
    return parse(message, {reinterpret_cast<const char*>(file->data()), file->size()}, path);
}

Result<void> parseBytes(std::string_view bytes, google::protobuf::Message& message) {
    if (bytes.size() > INT_MAX)
        return tooLarge({});
    return parse(message, bytes, {});
}

} // namespace fuselage::model_io
