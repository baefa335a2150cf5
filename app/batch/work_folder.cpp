// SPDX-License-Identifier: Apache-2.0
#include "app/batch/work_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

namespace fuselage::batch {

namespace fs = std::filesystem;

namespace {

constexpr const char* prefix = ".work-";

/// A lock that ends with the process that holds it, however it ends; -1: held by another.
int lockFolder(const std::string& folder) {
    const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle >= 0 && ::flock(handle, LOCK_EX | LOCK_NB) == 0)
        return handle;
    if (handle >= 0)
        ::close(handle);
    return -1;
}

/// Work folders whose process is gone. One that is being made is not locked yet for a moment; it
/// is empty then and its maker notices.
void clearAbandonedFolders(const std::string& output) {
    std::error_code error;
    for (fs::directory_iterator at(output, error), end; !error && at != end; at.increment(error)) {
        if (!at->path().filename().string().starts_with(prefix))
            continue;
        const int lock = lockFolder(at->path().string());
        if (lock < 0)
            continue;
        std::error_code ignored;
        fs::remove_all(at->path(), ignored);
        ::close(lock);
    }
}

} // namespace

Result<WorkFolder> WorkFolder::make(const std::string& output) {
    std::error_code error;
    fs::create_directories(fs::path(output) / "models", error);
    if (error)
        return failure("save.write", "the folder cannot be made: " + error.message(), output,
                       "check its permissions and free space");
    clearAbandonedFolders(output);
    constexpr int tries = 100;
    for (int i = 0; i < tries; ++i) {
        std::string path = output + "/" + prefix + "XXXXXX";
        if (::mkdtemp(path.data()) == nullptr)
            break;
        const int lock = lockFolder(path);
        // Another process may have taken it for abandoned.
        if (lock >= 0 && fs::exists(path, error))
            return WorkFolder(path, lock);
        if (lock >= 0)
            ::close(lock);
    }
    return failure("save.write", std::string("no folder can be made: ") + std::strerror(errno),
                   output, "check its permissions and free space");
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : m_path(std::move(other.m_path)), m_lock(other.m_lock) {
    other.m_path.clear();
    other.m_lock = -1;
}

WorkFolder::~WorkFolder() {
    if (m_path.empty())
        return;
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
    ::close(m_lock);
}

} // namespace fuselage::batch
