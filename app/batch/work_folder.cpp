// SPDX-License-Identifier: Apache-2.0
#include "app/batch/work_folder.h"

#include "app/batch/outputs.h"

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

/// A lock that ends with the process that holds it, however it ends; null: held by another.
std::unique_ptr<FileHandle> lockFolder(const std::string& folder) {
    auto handle =
        std::make_unique<FileHandle>(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (handle->value() < 0 || ::flock(handle->value(), LOCK_EX | LOCK_NB) != 0)
        return nullptr;
    return handle;
}

/// Of processes that are gone, since this one holds the lock.
void clearAbandonedFolders(const std::string& output) {
    std::error_code error;
    for (fs::directory_iterator at(output, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        if (at->path().filename().string().starts_with(prefix))
            fs::remove_all(at->path(), ignored);
    }
}

} // namespace

Result<std::unique_ptr<FileHandle>> lockOutputs(const std::string& output) {
    if (auto claimed = claimModels(output); !claimed)
        return failure(claimed.error());
    auto lock = lockFolder(output + "/models");
    if (!lock)
        return failure("save.busy", "another run writes into this folder", output,
                       "wait for its end, or name another folder with -o");
    return lock;
}

Result<WorkFolder> WorkFolder::make(const std::string& output) {
    auto lock = lockOutputs(output);
    if (!lock)
        return failure(lock.error());
    clearAbandonedFolders(output);
    std::string path = output + "/" + prefix + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)
        return failure("save.write", std::string("no folder can be made: ") + std::strerror(errno),
                       output, "check its permissions and free space");
    return WorkFolder(std::move(path), std::move(*lock));
}

WorkFolder::~WorkFolder() {
    if (!m_lock)
        return;
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
}

} // namespace fuselage::batch
