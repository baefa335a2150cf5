// SPDX-License-Identifier: Apache-2.0
// Strong index types: a NodeId cannot be mistaken for a ValueId.
#pragma once

#include <cstdint>
#include <functional>

namespace fuselage {

/// An index into one kind of table; default-constructed ids are invalid.
template <typename Tag> class Id {
public:
    constexpr Id() = default;

    constexpr explicit Id(uint32_t index) : m_index(index) {}

    constexpr bool valid() const { return m_index != invalidIndex; }

    constexpr uint32_t index() const { return m_index; }

    friend constexpr bool operator==(Id a, Id b) { return a.m_index == b.m_index; }

    friend constexpr bool operator!=(Id a, Id b) { return a.m_index != b.m_index; }

    friend constexpr bool operator<(Id a, Id b) { return a.m_index < b.m_index; }

private:
    static constexpr uint32_t invalidIndex = 0xffffffffU;
    uint32_t m_index = invalidIndex;
};

} // namespace fuselage

template <typename Tag> struct std::hash<fuselage::Id<Tag>> {
    size_t operator()(fuselage::Id<Tag> id) const noexcept { return id.index(); }
};
