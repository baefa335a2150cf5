// SPDX-License-Identifier: Apache-2.0
// A stable 64-bit hash (FNV-1a with a final mix): same bytes, same hash, on every machine.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace fuselage {

class Hasher {
public:
    Hasher& bytes(const void* data, size_t size) {
        const auto* p = static_cast<const unsigned char*>(data);
        for (size_t i = 0; i < size; ++i)
            m_state = (m_state ^ p[i]) * 0x100000001b3ULL;
        return *this;
    }

    /// A length prefix keeps ("a","bc") and ("ab","c") apart.
    Hasher& text(std::string_view text) {
        number(text.size());
        return bytes(text.data(), text.size());
    }

    template <typename T> Hasher& number(T value) {
        static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
        return bytes(&value, sizeof value);
    }

    uint64_t value() const {
        uint64_t x = m_state;
        x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
        x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
        return x ^ (x >> 33);
    }

    /// Sixteen lower-case hexadecimal digits.
    std::string hex() const {
        static const char* digits = "0123456789abcdef";
        std::string out(16, '0');
        uint64_t x = value();
        for (int i = 15; i >= 0; --i, x >>= 4)
            out[static_cast<size_t>(i)] = digits[x & 15];
        return out;
    }

private:
    uint64_t m_state = 0xcbf29ce484222325ULL;
};

} // namespace fuselage
