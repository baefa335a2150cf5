// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/file_internal.h"
#include "core/onnx/node_order_internal.h"

#include <climits>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace fuselage::model_io {

namespace fs = std::filesystem;

namespace {

/// Nested messages: a subgraph takes three levels (graph, node, attribute).
constexpr int maxNesting = 3 * maxDepth + 50;

/// Closes its file descriptor.
class Handle {
public:
    explicit Handle(int handle) : m_handle(handle) {}

    ~Handle() {
        if (m_handle >= 0)
            ::close(m_handle);
    }

    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    int value() const { return m_handle; }

private:
    int m_handle;
};

Result<void> parse(google::protobuf::Message& message,
                   google::protobuf::io::CodedInputStream& stream, const std::string& where) {
    stream.SetTotalBytesLimit(INT_MAX);
    stream.SetRecursionLimit(maxNesting);
    if (message.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage())
        return {};
    return failure("load.parse", "not an ONNX file, or truncated", where,
                   "check the file; export or download it again");
}

Failure tooLarge(const std::string& where) {
    return failure("load.too_large", "model files are limited to 2 GiB", where,
                   "store the weights as external data beside the model");
}

Failure cannotWrite(const std::string& path) {
    return failure("save.write", fmt::format("the file cannot be written: {}", strerror(errno)),
                   path, "check the folder's permissions and free space");
}

bool writeAll(int handle, const std::byte* data, size_t size) {
    while (size != 0) {
        ssize_t written = ::write(handle, data, std::min<size_t>(size, 1U << 30));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= static_cast<size_t>(written);
    }
    return true;
}

} // namespace

Result<void> parseFile(const std::string& path, size_t maxBytes,
                       google::protobuf::Message& message) {
    std::error_code failed;
    if (!fs::exists(path, failed))
        return failure("load.missing", "the file does not exist", path, "check the path");
    if (!fs::is_regular_file(path, failed))
        return failure("load.missing", "not a regular file", path, "give the path of a file");
    uintmax_t size = fs::file_size(path, failed);
    if (failed || size > maxBytes)
        return failure("load.too_large",
                       fmt::format("the file exceeds the limit maxFileBytes = {}", maxBytes), path,
                       "raise the limit");
    if (size > INT_MAX)
        return tooLarge(path);
    Handle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.value() < 0)
        return failure("load.missing", "the file cannot be opened", path, "check its permissions");
    google::protobuf::io::FileInputStream bytes(file.value(), 1 << 20);
    google::protobuf::io::CodedInputStream stream(&bytes);
    return parse(message, stream, path);
}

Result<void> parseBytes(std::string_view bytes, google::protobuf::Message& message) {
    if (bytes.size() > INT_MAX)
        return tooLarge({});
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                  static_cast<int>(bytes.size()));
    return parse(message, stream, {});
}

Result<void> writeFile(const std::vector<Piece>& pieces, const std::string& path) {
    std::string beside = fmt::format("{}.{}.part", path, ::getpid());
    bool written = false;
    {
        Handle file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        if (file.value() < 0)
            return cannotWrite(path);
        written = std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
            return ::lseek(file.value(), static_cast<off_t>(piece.offset), SEEK_SET) >= 0 &&
                   writeAll(file.value(), piece.data, piece.size);
        });
    }
    if (written && ::rename(beside.c_str(), path.c_str()) == 0)
        return {};
    Failure failed = cannotWrite(path);
    ::unlink(beside.c_str());
    return failed;
}

Result<void> writeFile(std::string_view bytes, const std::string& path) {
    return writeFile({{0, reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}}, path);
}

} // namespace fuselage::model_io
