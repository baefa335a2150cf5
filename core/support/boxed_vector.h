// SPDX-License-Identifier: Apache-2.0
// A vector with the room of one pointer while nothing was put into it: for lists that few of many
// objects have.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

namespace fuselage {

/// Copies are deep. `T` may be incomplete where one is declared.
template <typename T> class BoxedVector {
public:
    BoxedVector() = default;

    BoxedVector(std::initializer_list<T> items) {
        if (items.size() > 0)
            m_box = std::make_unique<std::vector<T>>(items);
    }

    BoxedVector(const BoxedVector& other)
        : m_box(other.m_box ? std::make_unique<std::vector<T>>(*other.m_box) : nullptr) {}

    BoxedVector(BoxedVector&&) noexcept = default;

    BoxedVector& operator=(const BoxedVector& other) { return *this = BoxedVector(other); }

    BoxedVector& operator=(BoxedVector&&) noexcept = default;

    ~BoxedVector() = default;

    bool empty() const { return !m_box || m_box->empty(); }

    size_t size() const { return m_box ? m_box->size() : 0; }

    const T* begin() const { return m_box ? m_box->data() : nullptr; }

    const T* end() const { return begin() + size(); }

    T* begin() { return m_box ? m_box->data() : nullptr; }

    T* end() { return begin() + size(); }

    const T& operator[](size_t i) const { return (*m_box)[i]; }

    T& operator[](size_t i) { return (*m_box)[i]; }

    void reserve(size_t count) { box().reserve(count); }

    void push_back(T item) { box().push_back(std::move(item)); }

    /// Gives the room back, too.
    void clear() { m_box.reset(); }

private:
    std::vector<T>& box() {
        if (!m_box)
            m_box = std::make_unique<std::vector<T>>();
        return *m_box;
    }

    std::unique_ptr<std::vector<T>> m_box;
};

} // namespace fuselage
