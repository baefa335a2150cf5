// SPDX-License-Identifier: Apache-2.0
// A tensor with its data: element type, extents, row-major bytes. Copies share the bytes.
#pragma once

#include "core/graph/type.h"
#include "core/support/result.h"

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fuselage {

/// Bytes that live as long as someone needs them: owned memory (64-byte aligned), a mapped file,
/// or a string moved out of a parsed message.
class Storage {
public:
    virtual ~Storage() = default;
    virtual std::byte* data() = 0;
    virtual size_t size() const = 0;

    /// New zeroed memory, 64-byte aligned.
    static std::shared_ptr<Storage> allocate(size_t bytes);
    /// Takes over a string's bytes without copying.
    static std::shared_ptr<Storage> adopt(std::string bytes);
};

/// Dense row-major tensor. Strings are kept apart, since they have no fixed size.
class Tensor {
public:
    Tensor() = default;

    /// Zeroed (or empty-string) elements. Extents must have been checked for overflow.
    Tensor(DType dtype, Extents extents);
    /// `storage` must hold exactly the bytes that dtype and extents ask for.
    Tensor(DType dtype, Extents extents, std::shared_ptr<Storage> storage);

    static Tensor scalar(float value);
    static Tensor ofInts(const std::vector<int64_t>& values); ///< int64, one dimension
    static Tensor ofFloats(Extents extents, const std::vector<float>& values);

    DType dtype() const { return m_dtype; }

    const Extents& extents() const { return m_extents; }

    size_t rank() const { return m_extents.size(); }

    int64_t elementCount() const { return m_count; }

    size_t byteCount() const { return static_cast<size_t>(m_count) * sizeOf(m_dtype); }

    Type type() const { return tensorType(m_dtype, toShape(m_extents)); }

    bool defined() const { return m_dtype != DType::Undefined; }

    std::byte* bytes() { return m_storage ? m_storage->data() : nullptr; }

    const std::byte* bytes() const { return m_storage ? m_storage->data() : nullptr; }

    /// Elements as T; T must have the size of the dtype.
    template <typename T> std::span<T> as() {
        assert(sizeof(T) == sizeOf(m_dtype) && "element size");
        return {reinterpret_cast<T*>(bytes()), static_cast<size_t>(m_count)};
    }

    template <typename T> std::span<const T> as() const {
        assert(sizeof(T) == sizeOf(m_dtype) && "element size");
        return {reinterpret_cast<const T*>(bytes()), static_cast<size_t>(m_count)};
    }

    std::vector<std::string>& strings() { return *m_strings; }

    const std::vector<std::string>& strings() const { return *m_strings; }

    /// One element as a number, whatever the dtype (not for strings).
    double at(int64_t index) const;
    int64_t intAt(int64_t index) const;
    void set(int64_t index, double value);
    void setInt(int64_t index, int64_t value);

    /// All elements as int64; for shapes, axes and other small integer tensors.
    std::vector<int64_t> toInts() const;

    /// The same bytes under other extents with the same element count.
    Tensor reshaped(Extents extents) const;

    /// A copy with its own storage.
    Tensor clone() const;

    /// Elements that hold for the data of one run (core/passes/specialise.h): as a constant they
    /// say shapes, while what else is computed from them is computed in every run.
    bool isAssumed() const { return m_isAssumed; }

    void setAssumed() { m_isAssumed = true; }

private:
    DType m_dtype = DType::Undefined;
    Extents m_extents;
    int64_t m_count = 0;
    bool m_isAssumed = false;
    std::shared_ptr<Storage> m_storage;
    std::shared_ptr<std::vector<std::string>> m_strings;
};

using TensorPtr = std::shared_ptr<const Tensor>;

/// Same dtype, extents and bytes.
bool identical(const Tensor& a, const Tensor& b);

} // namespace fuselage
