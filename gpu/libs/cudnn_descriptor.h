// SPDX-License-Identifier: Apache-2.0
// A backend descriptor of cuDNN with an owner. Setting an attribute that fails is remembered, so a
// builder sets all and asks once.
#pragma once

#include "core/support/reason.h"
#include "gpu/libs/cudnn_api.h"

#include <optional>
#include <span>
#include <vector>

namespace fuselage::gpu::cudnn {

/// A Reason "support", "dtype", "layout" or "shape" with the library's words.
Reason reasonOf(const Library& library, Status status, const std::string& what);

class Descriptor {
public:
    Descriptor() = default;
    Descriptor(LibraryPtr library, Kind kind);
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();

    RawDescriptor raw() const { return m_raw; }

    const Library& library() const { return *m_library; }

    void set(Attribute attribute, Type type, const void* values, size_t count);
    void set(Attribute attribute, const std::vector<int64_t>& values);
    void set(Attribute attribute, int64_t value);
    void set(Attribute attribute, bool value);
    void set(Attribute attribute, double value);
    void set(Attribute attribute, float value);
    void set(Attribute attribute, DataType value);
    void set(Attribute attribute, const Descriptor& value);
    /// An enumerator of cuDNN.
    void setCode(Attribute attribute, Type type, int value);

    /// The first refusal of set() or of finishing, else none.
    std::optional<Reason> finish(const std::string& what);

    /// At most `room` values; fewer when there are fewer, none when the attribute is not there.
    template <typename T> std::vector<T> read(Attribute attribute, Type type, size_t room) const {
        std::vector<T> out(room);
        out.resize(readRaw(attribute, type, out.data(), room));
        return out;
    }

    /// Fills descriptors that were made before; how many there are.
    size_t readInto(Attribute attribute, std::span<Descriptor> out) const;
    /// A text attribute.
    std::string readText(Attribute attribute) const;

private:
    size_t readRaw(Attribute attribute, Type type, void* to, size_t room) const;

    LibraryPtr m_library;
    RawDescriptor m_raw = nullptr;
    Status m_status = CUDNN_STATUS_SUCCESS;
    std::string m_words;
};

} // namespace fuselage::gpu::cudnn
