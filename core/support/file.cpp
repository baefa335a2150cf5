// SPDX-License-Identifier: Apache-2.0
#include "core/support/file.h"

#include "core/support/links.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fuselage {

namespace {

constexpr const char* unfinished = ".part"; ///< ends the names of files that are being written

Failure cannotWrite(const std::string& path) {
    const int why = errno;
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    switch (why) {
    case ENOENT:
        if (folder.empty() || std::filesystem::is_directory(folder, ignored))
            return failure("save.write", "no file can be made in its folder", path,
                           "write elsewhere");
        return failure("save.write", "its folder does not exist", path, "make the folder first");
    case EISDIR:
        return failure("save.write", "this is a folder", path, "give the name of a file");
    case ENOSPC:
        return failure("save.write", "the file cannot be written: the disk is full", path,
                       "free some space, or write elsewhere");
    default:
        return failure("save.write",
                       std::string("the file cannot be written: ") + std::strerror(why), path,
                       "check the folder's permissions and free space");
    }
}

constexpr size_t mostAtOnce = size_t{32} << 20; ///< a fraction of a second of a slow disk

/// Tells of the bytes that were written; without a Progress nothing.
class Written {
public:
    Written(Progress* progress, const std::vector<FilePiece>& pieces) : m_progress(progress) {
        for (const FilePiece& piece : pieces)
            m_all += piece.size;
    }

    void add(size_t bytes) {
        m_done += bytes;
        if (m_progress != nullptr)
            m_progress->report("write", m_done >> 20U, m_all >> 20U);
    }

    bool isStopped() const { return m_progress != nullptr && m_progress->cancelled(); }

private:
    Progress* m_progress;
    size_t m_done = 0, m_all = 0;
};

/// False: errno says why, or it was stopped.
bool writeAll(int handle, const std::byte* data, size_t size, Written& progress) {
    while (size != 0) {
        if (progress.isStopped())
            return false;
        ssize_t written = ::write(handle, data, std::min(size, mostAtOnce));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= static_cast<size_t>(written);
        progress.add(static_cast<size_t>(written));
    }
    return true;
}

/// A file that is being written. Where the file system allows, it has no name until it is whole, so
/// that a program that is killed leaves nothing behind.
class Unfinished {
public:
    explicit Unfinished(const std::string& path) : m_beside(besideOf(path)) {
        const size_t slash = path.rfind('/');
        const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        m_handle = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
        m_named = m_handle < 0;
        if (m_named)
            m_handle = ::open(m_beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }

    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    ~Unfinished() {
        if (m_handle >= 0)
            ::close(m_handle);
    }

    int handle() const { return m_handle; }

    const std::string& beside() const { return m_beside; }

    bool isNamed() const { return m_named; }

    /// Gives it the name beside its path.
    bool name() {
        const std::string self = "/proc/self/fd/" + std::to_string(m_handle);
        return m_named ||
               ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, m_beside.c_str(), AT_SYMLINK_FOLLOW) == 0;
    }

private:
    /// Two threads may write one path.
    static std::string besideOf(const std::string& path) {
        static std::atomic<unsigned> counter{0};
        return path + "." + std::to_string(::getpid()) + "-" + std::to_string(++counter) +
               unfinished;
    }

    std::string m_beside;
    int m_handle = -1;
    bool m_named = false;
};

/// A pipe, a terminal, /dev/null: written as it is, never replaced by a file.
bool isStream(const std::string& path) {
    struct stat at {};
    return ::stat(path.c_str(), &at) == 0 && !S_ISREG(at.st_mode) && !S_ISDIR(at.st_mode);
}

/// Gives the new file the owner, group and mode of the one whose place it takes. Where it cannot
/// have the group, the group that it has may do what others may.
void keepMode(int handle, const std::string& path) {
    struct stat before {};
    if (::stat(path.c_str(), &before) != 0 || !S_ISREG(before.st_mode))
        return;
    mode_t mode = before.st_mode & 07777U;
    const bool isOwned = ::fchown(handle, before.st_uid, before.st_gid) == 0;
    if (!isOwned && ::fchown(handle, static_cast<uid_t>(-1), before.st_gid) != 0)
        mode = (mode & 0707U) | ((mode & 07U) << 3U);
    ::fchmod(handle, isOwned ? mode : mode & 0777U); // changing the owner may take bits away
}

Result<void> writeStream(const std::vector<FilePiece>& pieces, const std::string& path,
                         Written& progress) {
    const FileHandle stream(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    bool written = stream.value() >= 0;
    uint64_t at = 0;
    for (const FilePiece& piece : pieces) {
        const std::vector<std::byte> gap(piece.offset > at ? piece.offset - at : 0);
        written = written && writeAll(stream.value(), gap.data(), gap.size(), progress) &&
                  writeAll(stream.value(), piece.data, piece.size, progress);
        at = piece.offset + piece.size;
    }
    if (progress.isStopped())
        return cancelledFailure("write");
    return written ? Result<void>() : cannotWrite(path);
}

} // namespace

std::string behindLinks(const std::string& path) {
    std::filesystem::path at = path;
    std::error_code error;
    for (int links = 0; links < 40 && std::filesystem::is_symlink(at, error); ++links)
        at = at.parent_path() / std::filesystem::read_symlink(at, error);
    return at.string();
}

FileHandle::~FileHandle() {
    if (m_handle >= 0)
        ::close(m_handle);
}

Result<std::unique_ptr<FileHandle>> lockFile(const std::string& path, const std::string& what) {
    const std::string beside = path + ".lock";
    auto out =
        std::make_unique<FileHandle>(::open(beside.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    int locked = -1;
    if (out->value() >= 0)
        do
            locked = ::flock(out->value(), LOCK_EX);
        while (locked != 0 && errno == EINTR);
    if (locked != 0)
        return failure("save.write", what + " cannot be locked: " + std::strerror(errno), beside,
                       "check the folder's permissions");
    return out;
}

Result<std::string> readFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (file.peek() != std::ifstream::traits_type::eof()) // an empty one gives nothing to insert
        text << file.rdbuf();
    if (file.bad() || !file.is_open() || !text)
        return failure("file.read", "file cannot be read", path,
                       "check the path and its permissions");
    return text.str();
}

Result<void> checkWritable(const std::string& given) {
    const std::string path = behindLinks(given);
    if (isStream(path))
        return ::access(path.c_str(), W_OK) == 0 ? Result<void>() : cannotWrite(path);
    std::string beside;
    {
        const Unfinished file(path);
        if (file.handle() < 0)
            return cannotWrite(path);
        beside = file.beside();
    }
    ::unlink(beside.c_str()); // where it had to have a name
    return {};
}

Result<void> writeFile(const std::vector<FilePiece>& pieces, const std::string& given,
                       Progress* progress) {
    const std::string path = behindLinks(given);
    Written told(progress, pieces);
    if (isStream(path))
        return writeStream(pieces, path, told);
    std::string beside;
    bool written = false;
    {
        Unfinished file(path);
        beside = file.beside();
        if (file.handle() < 0)
            return cannotWrite(path);
        written = std::all_of(pieces.begin(), pieces.end(), [&](const FilePiece& piece) {
            return ::lseek(file.handle(), static_cast<off_t>(piece.offset), SEEK_SET) >= 0 &&
                   writeAll(file.handle(), piece.data, piece.size, told);
        });
        if (told.isStopped()) {
            if (file.isNamed())
                ::unlink(beside.c_str());
            return cancelledFailure("write");
        }
        if (written) // else errno says why not
            keepMode(file.handle(), path);
        written = written && file.name();
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

void clearUnfinished(const std::string& folder,
                     FunctionRef<bool(const std::string& path)> isAbandoned) {
    namespace fs = std::filesystem;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        if (at->path().extension() == unfinished && isAbandoned(at->path().string()))
            fs::remove(at->path(), ignored);
    }
}

} // namespace fuselage
