// SPDX-License-Identifier: Apache-2.0
// A whole file in memory, mapped and not copied: models and the data beside them. Pages are
// private, so that writing to them never reaches the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace fuselage::model_io {

class MappedFile {
public:
    MappedFile(std::byte* data, size_t size) : m_data(data), m_size(size) {}

    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// Null for an empty file.
    std::byte* data() const { return m_data; }

    size_t size() const { return m_size; }

    /// Null when it is no regular file that can be read; errno says why: ENOMEM where the process
    /// may not have as many addresses.
    static std::shared_ptr<MappedFile> open(const std::filesystem::path& path);

private:
    std::byte* m_data;
    size_t m_size;
};

} // namespace fuselage::model_io
