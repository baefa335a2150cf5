// SPDX-License-Identifier: Apache-2.0
// A hidden folder inside of an output folder: children write there, whole files are moved out by
// renaming. One process at a time has one; what a killed process left is cleared by the next one.
#pragma once

#include "core/support/file.h"
#include "core/support/result.h"

#include <memory>
#include <string>

namespace fuselage::batch {

/// Makes `output` and `output`/models and holds them until the handle goes, however the process
/// ends: one at a time writes there. Errors those of claimModels; "save.busy": another one does.
Result<std::unique_ptr<FileHandle>> lockOutputs(const std::string& output);

class WorkFolder {
public:
    /// Makes `output`, `output`/models and the work folder. Errors "save.write", those of
    /// claimModels; "save.busy": another process writes there.
    static Result<WorkFolder> make(const std::string& output);

    WorkFolder(WorkFolder&& other) = default;
    WorkFolder(const WorkFolder&) = delete;
    WorkFolder& operator=(const WorkFolder&) = delete;
    WorkFolder& operator=(WorkFolder&&) = delete;
    ~WorkFolder();

    const std::string& path() const { return m_path; }

    std::string file(const std::string& name) const { return m_path + "/" + name; }

private:
    WorkFolder(std::string path, std::unique_ptr<FileHandle> lock)
        : m_path(std::move(path)), m_lock(std::move(lock)) {}

    std::string m_path;
    std::unique_ptr<FileHandle> m_lock; ///< of `output`/models; none: moved from
};

} // namespace fuselage::batch
