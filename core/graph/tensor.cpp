// SPDX-License-Identifier: Apache-2.0
#include "core/graph/tensor.h"

#include "core/support/memory.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace fuselage {

namespace {

/// Zeroed by the allocator, which knows when the system has done that already: large tensors are
/// not touched before they are filled.
class OwnedStorage final : public Storage {
public:
    explicit OwnedStorage(size_t bytes)
        : m_size(bytes), m_held(static_cast<int64_t>(bytes)),
          m_memory(std::calloc(bytes + alignment, 1)) {
        while (!m_memory) { // as operator new does it
            const std::new_handler handler = std::get_new_handler();
            if (!handler)
                throw std::bad_alloc();
            handler();
            m_memory = std::calloc(bytes + alignment, 1);
        }
        const auto at = reinterpret_cast<uintptr_t>(m_memory);
        m_data = reinterpret_cast<std::byte*>((at + alignment - 1) / alignment * alignment);
    }

    ~OwnedStorage() override { std::free(m_memory); }

    OwnedStorage(const OwnedStorage&) = delete;
    OwnedStorage& operator=(const OwnedStorage&) = delete;

    std::byte* data() override { return m_data; }

    size_t size() const override { return m_size; }

private:
    static constexpr size_t alignment = 64;

    size_t m_size;
    HeldMemory m_held;
    void* m_memory;
    std::byte* m_data;
};

class StringStorage final : public Storage {
public:
    explicit StringStorage(std::string bytes) : m_bytes(std::move(bytes)) {}

    std::byte* data() override { return reinterpret_cast<std::byte*>(m_bytes.data()); }

    size_t size() const override { return m_bytes.size(); }

private:
    std::string m_bytes;
};

template <typename T> T load(const std::byte* data, int64_t index) {
    T value;
    std::memcpy(&value, data + static_cast<size_t>(index) * sizeof(T), sizeof(T));
    return value;
}

template <typename T> void store(std::byte* data, int64_t index, T value) {
    std::memcpy(data + static_cast<size_t>(index) * sizeof(T), &value, sizeof(T));
}

} // namespace

std::shared_ptr<Storage> Storage::allocate(size_t bytes) {
    return std::make_shared<OwnedStorage>(bytes);
}

std::shared_ptr<Storage> Storage::adopt(std::string bytes) {
    return std::make_shared<StringStorage>(std::move(bytes));
}

Tensor::Tensor(DType dtype, Extents extents) : m_dtype(dtype), m_extents(std::move(extents)) {
    auto count = fuselage::elementCount(m_extents);
    assert(count && "extents overflow");
    m_count = *count;
    if (dtype == DType::String)
        m_strings = std::make_shared<std::vector<std::string>>(static_cast<size_t>(m_count));
    else
        m_storage = Storage::allocate(byteCount());
}

Tensor::Tensor(DType dtype, Extents extents, std::shared_ptr<Storage> storage)
    : m_dtype(dtype), m_extents(std::move(extents)), m_storage(std::move(storage)) {
    auto count = fuselage::elementCount(m_extents);
    assert(count && "extents overflow");
    m_count = *count;
    assert(m_storage->size() == byteCount() && "storage size");
}

Tensor Tensor::scalar(float value) {
    Tensor out(DType::Float32, {});
    out.as<float>()[0] = value;
    return out;
}

Tensor Tensor::ofInts(const std::vector<int64_t>& values) {
    Tensor out(DType::Int64, {static_cast<int64_t>(values.size())});
    if (!values.empty()) // memcpy takes no null, not even for nothing
        std::memcpy(out.bytes(), values.data(), values.size() * sizeof(int64_t));
    return out;
}

Tensor Tensor::ofFloats(Extents extents, const std::vector<float>& values) {
    Tensor out(DType::Float32, std::move(extents));
    assert(static_cast<size_t>(out.m_count) == values.size() && "element count");
    if (!values.empty())
        std::memcpy(out.bytes(), values.data(), values.size() * sizeof(float));
    return out;
}

double Tensor::at(int64_t index) const {
    switch (m_dtype) {
    case DType::Float32:
        return load<float>(bytes(), index);
    case DType::Float64:
        return load<double>(bytes(), index);
    case DType::Float16:
        return halfToFloat(load<uint16_t>(bytes(), index));
    case DType::BFloat16:
        return bfloat16ToFloat(load<uint16_t>(bytes(), index));
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2FNUZ:
    case DType::Float4E2M1:
    case DType::Float8E8M0:
        return float8ToFloat(m_dtype, load<uint8_t>(bytes(), index));
    case DType::UInt64:
        return static_cast<double>(load<uint64_t>(bytes(), index));
    default:
        return static_cast<double>(intAt(index));
    }
}

int64_t Tensor::intAt(int64_t index) const {
    switch (m_dtype) {
    case DType::Int8:
    case DType::Int4:
    case DType::Int2:
        return load<int8_t>(bytes(), index);
    case DType::Int16:
        return load<int16_t>(bytes(), index);
    case DType::Int32:
        return load<int32_t>(bytes(), index);
    case DType::Int64:
    case DType::UInt64:
        return load<int64_t>(bytes(), index);
    case DType::UInt8:
    case DType::UInt4:
    case DType::UInt2:
    case DType::Bool:
        return load<uint8_t>(bytes(), index);
    case DType::UInt16:
        return load<uint16_t>(bytes(), index);
    case DType::UInt32:
        return load<uint32_t>(bytes(), index);
    case DType::String: // where a number belongs: a hostile model, which checks refuse later
    case DType::Undefined:
    case DType::Complex64: // nothing computes on them
    case DType::Complex128:
        return 0;
    default:
        return static_cast<int64_t>(at(index));
    }
}

void Tensor::set(int64_t index, double value) {
    switch (m_dtype) {
    case DType::Float32:
        return store(bytes(), index, static_cast<float>(value));
    case DType::Float64:
        return store(bytes(), index, value);
    case DType::Float16:
        return store(bytes(), index, floatToHalf(static_cast<float>(value)));
    case DType::BFloat16:
        return store(bytes(), index, floatToBfloat16(static_cast<float>(value)));
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2FNUZ:
    case DType::Float4E2M1:
    case DType::Float8E8M0:
        return store(bytes(), index,
                     floatToFloat8(m_dtype, static_cast<float>(value), std::isfinite(value)));
    default:
        return setInt(index, static_cast<int64_t>(value));
    }
}

void Tensor::setInt(int64_t index, int64_t value) {
    switch (sizeOf(m_dtype)) {
    case 1:
        if (isFloat(m_dtype))
            return set(index, static_cast<double>(value));
        return store(bytes(), index, static_cast<uint8_t>(wrapTo(m_dtype, value)));
    case 2:
        if (isFloat(m_dtype))
            return set(index, static_cast<double>(value));
        return store(bytes(), index, static_cast<uint16_t>(value));
    case 4:
        if (isFloat(m_dtype))
            return set(index, static_cast<double>(value));
        return store(bytes(), index, static_cast<uint32_t>(value));
    default:
        if (isFloat(m_dtype))
            return set(index, static_cast<double>(value));
        return store(bytes(), index, value);
    }
}

std::vector<int64_t> Tensor::toInts() const {
    std::vector<int64_t> out(static_cast<size_t>(m_count));
    for (int64_t i = 0; i < m_count; ++i)
        out[static_cast<size_t>(i)] = intAt(i);
    return out;
}

Tensor Tensor::reshaped(Extents extents) const {
    Tensor out = *this;
    assert(fuselage::elementCount(extents) == m_count && "element count");
    out.m_extents = std::move(extents);
    return out;
}

Tensor Tensor::clone() const {
    Tensor out(m_dtype, m_extents);
    if (m_strings)
        *out.m_strings = *m_strings;
    else
        std::memcpy(out.bytes(), bytes(), byteCount());
    out.m_isAssumed = m_isAssumed;
    return out;
}

bool identical(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || a.extents() != b.extents())
        return false;
    if (a.dtype() == DType::String)
        return a.strings() == b.strings();
    return a.byteCount() == 0 || std::memcmp(a.bytes(), b.bytes(), a.byteCount()) == 0;
}

} // namespace fuselage
