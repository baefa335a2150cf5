// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/external_data_internal.h"
#include "core/onnx/mapped_file_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

namespace fuselage::model_io {

namespace fs = std::filesystem;

namespace {

/// A piece of a mapped file, which it keeps open.
class MappedStorage final : public Storage {
public:
    MappedStorage(std::shared_ptr<MappedFile> file, size_t offset, size_t size)
        : m_file(std::move(file)), m_offset(offset), m_size(size) {}

    std::byte* data() override { return m_file->data() + m_offset; }

    size_t size() const override { return m_size; }

private:
    std::shared_ptr<MappedFile> m_file;
    size_t m_offset;
    size_t m_size;
};

bool leavesFolder(const fs::path& location) {
    if (location.is_absolute())
        return true;
    for (const fs::path& part : location)
        if (part == "..")
            return true;
    return false;
}

bool isInside(const fs::path& path, const std::string& folder) {
    std::error_code failed;
    const fs::path root = fs::canonical(folder.empty() ? "." : folder, failed);
    if (failed)
        return false;
    auto [rootEnd, pathAt] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
    return rootEnd == root.end() && pathAt != path.end();
}

/// The real path of `location` in the first of the folders that has it; none: no folder has.
std::optional<fs::path> find(const std::vector<std::string>& folders, const fs::path& location) {
    std::error_code failed;
    for (const std::string& folder : folders)
        if (fs::path path = fs::canonical(fs::path(folder) / location, failed); !failed)
            return path;
    return std::nullopt;
}

} // namespace

Result<std::shared_ptr<MappedFile>> ExternalData::open(const std::string& location,
                                                       const std::string& where) {
    auto known = m_files.find(location);
    if (known != m_files.end())
        return known->second;
    if (location.empty())
        return failure("load.external_path", "external data is in a file that has no name", where,
                       "export the model again");
    if (location.find('\0') != std::string::npos || leavesFolder(location))
        return failure("load.external_path",
                       fmt::format("external data `{}` is not inside the model's folder", location),
                       where, "keep data files beside the model and name them relatively");
    const std::optional<fs::path> path = find(m_folders, location);
    if (!path)
        return failure("load.external_missing",
                       fmt::format("external data file `{}` does not exist", location), where,
                       "put the file beside the model");
    if (std::none_of(m_folders.begin(), m_folders.end(),
                     [&](const std::string& folder) { return isInside(*path, folder); }))
        return failure("load.external_path",
                       fmt::format("external data `{}` leads out of the model's folder", location),
                       where, "keep data files beside the model, not behind links");
    auto file = MappedFile::open(*path);
    if (!file && errno == ENOMEM)
        return failure("resource.memory",
                       fmt::format("external data file `{}` does not fit into the addresses that "
                                   "this process may use",
                                   location),
                       where, "allow the process more memory");
    if (!file)
        return failure("load.external_read",
                       fmt::format("external data file `{}` cannot be read", location), where,
                       "check that it is a regular file with read permission");
    if (file->size() > m_maxBytes || m_mappedBytes > m_maxBytes - file->size())
        return failure("load.too_large",
                       fmt::format("external data exceeds the limit maxFileBytes = {}", m_maxBytes),
                       where, "raise the limit");
    m_mappedBytes += file->size();
    m_files.emplace(location, file);
    return file;
}

Result<uint64_t> ExternalData::sizeOf(const std::string& location, const std::string& where) {
    auto file = open(location, where);
    if (!file)
        return failure(file.error());
    return static_cast<uint64_t>((*file)->size());
}

Result<std::shared_ptr<Storage>> ExternalData::read(const std::string& location, uint64_t offset,
                                                    uint64_t bytes, size_t alignment,
                                                    const std::string& where) {
    if (bytes == 0) // some writers make no file for what is empty
        return Storage::allocate(0);
    auto file = open(location, where);
    if (!file)
        return failure(file.error());
    uint64_t size = (*file)->size();
    if (offset > size || bytes > size - offset)
        return failure("load.external_range",
                       fmt::format("{} bytes from {} on are asked for, but `{}` has {} bytes",
                                   bytes, offset, location, size),
                       where, "the data file is truncated or belongs to another model");
    const std::byte* begin = (*file)->data() + offset;
    if (reinterpret_cast<uintptr_t>(begin) % alignment == 0)
        return std::shared_ptr<Storage>(
            std::make_shared<MappedStorage>(*file, static_cast<size_t>(offset), bytes));
    auto copy = Storage::allocate(bytes);
    std::memcpy(copy->data(), begin, bytes);
    return copy;
}

} // namespace fuselage::model_io
