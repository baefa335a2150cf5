// SPDX-License-Identifier: Apache-2.0
// Tensor data kept in files beside the model. Only regular files inside the model's folders are
// read, whatever the model asks for; they are mapped, not copied.
#pragma once

#include "core/graph/tensor.h"
#include "core/support/result.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fuselage::model_io {

class MappedFile;

class ExternalData {
public:
    /// `folders` are the model's: a file is looked for in each, and links may lead from one into
    /// another. `maxBytes` bounds the sum of all files that are mapped.
    ExternalData(std::vector<std::string> folders, size_t maxBytes)
        : m_folders(std::move(folders)), m_maxBytes(maxBytes) {}

    /// `bytes` bytes of the file `location` from `offset` on, aligned for elements of
    /// `alignment` bytes.
    Result<std::shared_ptr<Storage>> read(const std::string& location, uint64_t offset,
                                          uint64_t bytes, size_t alignment,
                                          const std::string& where);

    /// Size of the file in bytes.
    Result<uint64_t> sizeOf(const std::string& location, const std::string& where);

private:
    Result<std::shared_ptr<MappedFile>> open(const std::string& location, const std::string& where);

    std::vector<std::string> m_folders;
    size_t m_maxBytes;
    size_t m_mappedBytes = 0;
    std::map<std::string, std::shared_ptr<MappedFile>> m_files;
};

} // namespace fuselage::model_io
