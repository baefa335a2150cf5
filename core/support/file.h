// SPDX-License-Identifier: Apache-2.0
// Reading whole files, writing them so that nothing half-written is left, owning a descriptor.
#pragma once

#include "core/support/function_ref.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage {

/// Closes its file descriptor.
class FileHandle {
public:
    explicit FileHandle(int handle) : m_handle(handle) {}

    ~FileHandle();
    FileHandle(const FileHandle&) = delete;
    FileHandle& operator=(const FileHandle&) = delete;

    int value() const { return m_handle; }

private:
    int m_handle;
};

/// The lock, a file beside `path`, that writers of one shared file hold until the handle is closed;
/// waits for it. `what` names the file to people. Error "save.write".
Result<std::unique_ptr<FileHandle>> lockFile(const std::string& path, const std::string& what);

/// The whole file. Error "file.read".
Result<std::string> readFile(const std::string& path);

/// Success when the path's folder takes a new file: asked before work that takes long, leaves
/// nothing. Error "save.write".
Result<void> checkWritable(const std::string& path);

/// Writes beside the path and renames, with the old file's mode and, where it may, owner: a crash
/// leaves the old file or none. Symbolic links stay, pipes are written as they are. "save.write".
Result<void> writeFile(std::string_view bytes, const std::string& path);

/// The same from pieces, each at its offset; gaps are zero.
struct FilePiece {
    uint64_t offset = 0;
    const std::byte* data = nullptr;
    size_t size = 0;
};

/// `progress`, which may be null, is told of the bytes and asked whether to stop. Error
/// "cancelled".
Result<void> writeFile(const std::vector<FilePiece>& pieces, const std::string& path,
                       Progress* progress = nullptr);

/// Removes what killed writers left beside the paths they wrote in a folder. `isAbandoned` is asked
/// with the path of each: another process may be writing it now.
void clearUnfinished(const std::string& folder,
                     FunctionRef<bool(const std::string& path)> isAbandoned);

} // namespace fuselage
