// SPDX-License-Identifier: Apache-2.0
// Offsets of a text in bytes of UTF-8, as the language service counts, and in characters of
// QString, as the editor counts. Positions past the end become the end.
#pragma once

#include <QString>
#include <algorithm>
#include <vector>

namespace fuselage::studio {

class Utf8Map {
public:
    explicit Utf8Map(const QString& text) {
        m_bytes.reserve(static_cast<size_t>(text.size()) + 1);
        uint32_t at = 0;
        for (qsizetype i = 0; i < text.size(); ++i) {
            m_bytes.push_back(at);
            QChar c = text[i];
            // Both halves of a pair stand for four bytes; a half alone is written as three.
            bool pair = c.isHighSurrogate() && i + 1 < text.size() && text[i + 1].isLowSurrogate();
            if (pair) {
                m_bytes.push_back(at);
                ++i;
                at += 4;
            } else {
                at += c.unicode() < 0x80 ? 1 : c.unicode() < 0x800 ? 2 : 3;
            }
        }
        m_bytes.push_back(at);
    }

    uint32_t bytes(int character) const {
        auto at =
            std::clamp<size_t>(static_cast<size_t>(std::max(character, 0)), 0, m_bytes.size() - 1);
        return m_bytes[at];
    }

    int character(uint32_t byte) const {
        auto found = std::lower_bound(m_bytes.begin(), m_bytes.end(), byte);
        return static_cast<int>(std::min<std::ptrdiff_t>(
            found - m_bytes.begin(), static_cast<std::ptrdiff_t>(m_bytes.size()) - 1));
    }

private:
    std::vector<uint32_t> m_bytes; ///< of each character, and the end
};

} // namespace fuselage::studio
