// SPDX-License-Identifier: Apache-2.0
// A hidden folder inside of an output folder, of one process: children write there, whole files
// are moved out by renaming. What a killed process left is cleared by the next one.
#pragma once

#include "core/support/result.h"

#include <string>

namespace fuselage::batch {

class WorkFolder {
public:
    /// Makes `output`, `output`/models and the work folder. Error "save.write".
    static Result<WorkFolder> make(const std::string& output);

    WorkFolder(WorkFolder&& other) noexcept;
    WorkFolder(const WorkFolder&) = delete;
    WorkFolder& operator=(const WorkFolder&) = delete;
    WorkFolder& operator=(WorkFolder&&) = delete;
    ~WorkFolder();

    std::string file(const std::string& name) const { return m_path + "/" + name; }

private:
    WorkFolder(std::string path, int lock) : m_path(std::move(path)), m_lock(lock) {}

    std::string m_path;
    int m_lock = -1; ///< held while the folder is in use
};

} // namespace fuselage::batch
