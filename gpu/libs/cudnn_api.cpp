// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/cudnn_api.h"

#include <fmt/format.h>

#include <array>

namespace fuselage::gpu::cudnn {

namespace {

constexpr size_t oldest = 90000;

std::string textOf(size_t version) {
    return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

} // namespace

Result<std::shared_ptr<const Library>> Library::open() {
    auto library = SharedLibrary::open({"libcudnn.so.9"});
    if (!library)
        return failure(library.error());
    auto out = std::make_shared<Library>();
    out->m_library = *library;
    SymbolReader find(**library);
    Functions& call = out->m_functions;
    find(call.cudnnGetVersion, "cudnnGetVersion");
    find(call.cudnnGetErrorString, "cudnnGetErrorString");
    find(call.cudnnGetLastErrorString, "cudnnGetLastErrorString");
    find(call.cudnnCreate, "cudnnCreate");
    find(call.cudnnDestroy, "cudnnDestroy");
    find(call.cudnnSetStream, "cudnnSetStream");
    find(call.cudnnBackendCreateDescriptor, "cudnnBackendCreateDescriptor");
    find(call.cudnnBackendDestroyDescriptor, "cudnnBackendDestroyDescriptor");
    find(call.cudnnBackendFinalize, "cudnnBackendFinalize");
    find(call.cudnnBackendSetAttribute, "cudnnBackendSetAttribute");
    find(call.cudnnBackendGetAttribute, "cudnnBackendGetAttribute");
    find(call.cudnnBackendExecute, "cudnnBackendExecute");
    if (!find.absent().empty())
        return failure("library-missing",
                       fmt::format("`{}` lacks `{}`", out->path(), find.absent()), {},
                       "install cuDNN 9");
    out->m_version = call.cudnnGetVersion();
    if (out->m_version < oldest)
        return failure("library-missing",
                       fmt::format("`{}` is cuDNN {}", out->path(), textOf(out->m_version)), {},
                       "install cuDNN 9");
    return std::shared_ptr<const Library>(std::move(out));
}

std::string Library::version() const {
    return textOf(m_version);
}

std::string Library::words(Status status) const {
    std::array<char, 1024> condition{};
    m_functions.cudnnGetLastErrorString(condition.data(), condition.size());
    std::string out = m_functions.cudnnGetErrorString(status);
    if (condition[0] != '\0')
        out += std::string(": ") + condition.data();
    return out;
}

} // namespace fuselage::gpu::cudnn
