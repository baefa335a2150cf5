// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/cudnn_descriptor.h"

#include <algorithm>
#include <utility>

namespace fuselage::gpu::cudnn {

namespace {

const char* codeOf(Status status) {
    switch (status) {
    case CUDNN_STATUS_NOT_SUPPORTED_SHAPE:
        return "shape";
    case CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE:
        return "dtype";
    case CUDNN_STATUS_NOT_SUPPORTED_LAYOUT:
        return "layout";
    default:
        return "support";
    }
}

Reason refusal(Status status, const std::string& what, const std::string& words) {
    return {codeOf(status),
            "cuDNN refuses " + what + ": " + words,
            {},
            {{"status", std::to_string(status)}}};
}

} // namespace

Reason reasonOf(const Library& library, Status status, const std::string& what) {
    return refusal(status, what, library.words(status));
}

Descriptor::Descriptor(LibraryPtr library, Kind kind) : m_library(std::move(library)) {
    m_status = m_library->call().cudnnBackendCreateDescriptor(static_cast<int>(kind), &m_raw);
    if (m_status != CUDNN_STATUS_SUCCESS) {
        m_words = m_library->words(m_status);
        m_raw = nullptr;
    }
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : m_library(std::move(other.m_library)), m_raw(std::exchange(other.m_raw, nullptr)),
      m_status(other.m_status), m_words(std::move(other.m_words)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(m_library, other.m_library);
    std::swap(m_raw, other.m_raw);
    std::swap(m_status, other.m_status);
    std::swap(m_words, other.m_words);
    return *this;
}

Descriptor::~Descriptor() {
    if (m_raw != nullptr)
        (void)m_library->call().cudnnBackendDestroyDescriptor(m_raw);
}

void Descriptor::set(Attribute attribute, Type type, const void* values, size_t count) {
    if (m_status != CUDNN_STATUS_SUCCESS)
        return;
    m_status = m_library->call().cudnnBackendSetAttribute(m_raw, static_cast<int>(attribute),
                                                          static_cast<int>(type),
                                                          static_cast<int64_t>(count), values);
    if (m_status != CUDNN_STATUS_SUCCESS)
        m_words = m_library->words(m_status);
}

void Descriptor::set(Attribute attribute, const std::vector<int64_t>& values) {
    set(attribute, Type::CUDNN_TYPE_INT64, values.data(), values.size());
}

void Descriptor::set(Attribute attribute, int64_t value) {
    set(attribute, Type::CUDNN_TYPE_INT64, &value, 1);
}

void Descriptor::set(Attribute attribute, bool value) {
    set(attribute, Type::CUDNN_TYPE_BOOLEAN, &value, 1);
}

void Descriptor::set(Attribute attribute, double value) {
    set(attribute, Type::CUDNN_TYPE_DOUBLE, &value, 1);
}

void Descriptor::set(Attribute attribute, float value) {
    set(attribute, Type::CUDNN_TYPE_FLOAT, &value, 1);
}

void Descriptor::set(Attribute attribute, DataType value) {
    setCode(attribute, Type::CUDNN_TYPE_DATA_TYPE, static_cast<int>(value));
}

void Descriptor::set(Attribute attribute, const Descriptor& value) {
    set(attribute, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, &value.m_raw, 1);
}

void Descriptor::setCode(Attribute attribute, Type type, int value) {
    set(attribute, type, &value, 1);
}

std::optional<Reason> Descriptor::finish(const std::string& what) {
    if (m_status == CUDNN_STATUS_SUCCESS) {
        m_status = m_library->call().cudnnBackendFinalize(m_raw);
        if (m_status != CUDNN_STATUS_SUCCESS)
            m_words = m_library->words(m_status);
    }
    return m_status == CUDNN_STATUS_SUCCESS ? std::nullopt
                                            : std::optional(refusal(m_status, what, m_words));
}

size_t Descriptor::readRaw(Attribute attribute, Type type, void* to, size_t room) const {
    int64_t count = 0;
    if (m_raw == nullptr || m_library->call().cudnnBackendGetAttribute(
                                m_raw, static_cast<int>(attribute), static_cast<int>(type),
                                static_cast<int64_t>(room), &count, to) != CUDNN_STATUS_SUCCESS)
        return 0;
    return std::min(room, static_cast<size_t>(std::max<int64_t>(count, 0)));
}

size_t Descriptor::readInto(Attribute attribute, std::span<Descriptor> out) const {
    std::vector<RawDescriptor> raw;
    for (const Descriptor& descriptor : out)
        raw.push_back(descriptor.m_raw);
    return readRaw(attribute, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, raw.data(), raw.size());
}

std::string Descriptor::readText(Attribute attribute) const {
    int64_t count = 0;
    if (m_raw == nullptr ||
        m_library->call().cudnnBackendGetAttribute(m_raw, static_cast<int>(attribute),
                                                   static_cast<int>(Type::CUDNN_TYPE_CHAR), 0,
                                                   &count, nullptr) != CUDNN_STATUS_SUCCESS)
        return {};
    std::string out(static_cast<size_t>(std::max<int64_t>(count, 0)), '\0');
    out.resize(readRaw(attribute, Type::CUDNN_TYPE_CHAR, out.data(), out.size()));
    return out.substr(0, out.find('\0'));
}

} // namespace fuselage::gpu::cudnn
