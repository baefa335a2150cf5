// SPDX-License-Identifier: Apache-2.0
#include "core/support/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace fuselage {

namespace {

Failure cannotWrite(const std::string& path) {
    return failure("save.write", std::string("the file cannot be written: ") + std::strerror(errno),
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

FileHandle::~FileHandle() {
    if (m_handle >= 0)
        ::close(m_handle);
}

Result<std::string> readFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file || !text)
        return failure("file.read", "file cannot be read", path,
                       "check the path and its permissions");
    return text.str();
}

Result<void> writeFile(const std::vector<FilePiece>& pieces, const std::string& path) {
    // Two threads may write one path.
    static std::atomic<unsigned> counter{0};
    std::string beside =
        path + "." + std::to_string(::getpid()) + "-" + std::to_string(++counter) + ".part";
    bool written = false;
    {
        FileHandle file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        if (file.value() < 0)
            return cannotWrite(path);
        written = std::all_of(pieces.begin(), pieces.end(), [&](const FilePiece& piece) {
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
    return writeFile(
        std::vector{FilePiece{0, reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}},
        path);
}

} // namespace fuselage
