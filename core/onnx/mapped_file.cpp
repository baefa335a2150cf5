// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/mapped_file_internal.h"
#include "core/support/file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace fuselage::model_io {

MappedFile::~MappedFile() {
    if (m_size != 0)
        ::munmap(m_data, m_size);
}

std::shared_ptr<MappedFile> MappedFile::open(const std::filesystem::path& path) {
    // A pipe without a writer would hold the open back for ever.
    const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (file.value() < 0 || ::fstat(file.value(), &status) != 0)
        return nullptr;
    if (!S_ISREG(status.st_mode)) {
        errno = EINVAL;
        return nullptr;
    }
    const auto size = static_cast<size_t>(status.st_size);
    void* data = nullptr;
    if (size != 0)
        // Few pages are ever written, so that no memory is set aside for a copy of all.
        data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                      file.value(), 0);
    if (data == MAP_FAILED)
        return nullptr;
    return std::make_shared<MappedFile>(static_cast<std::byte*>(data), size);
}

} // namespace fuselage::model_io
