// SPDX-License-Identifier: Apache-2.0
#include "app/lsp/frame.h"

#include <algorithm>
#include <charconv>

namespace fuselage::lsp {

namespace {

constexpr std::string_view headerEnd = "\r\n\r\n";

bool sameName(std::string_view a, std::string_view b) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](char x, char y) { return lower(x) == lower(y); });
}

/// The value of Content-Length among the lines of a header.
std::optional<size_t> lengthIn(std::string_view header) {
    while (!header.empty()) {
        const size_t end = std::min(header.find("\r\n"), header.size());
        const std::string_view line = header.substr(0, end);
        header.remove_prefix(std::min(end + 2, header.size()));
        const size_t colon = line.find(':');
        if (colon == std::string_view::npos || !sameName(line.substr(0, colon), "content-length"))
            continue;
        std::string_view digits = line.substr(colon + 1);
        while (digits.starts_with(' '))
            digits.remove_prefix(1);
        size_t value = 0;
        auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error == std::errc() && last == digits.data() + digits.size() && !digits.empty())
            return value;
        return std::nullopt;
    }
    return std::nullopt;
}

} // namespace

Result<std::optional<std::string>> FrameReader::next() {
    if (!m_length) {
        const size_t end = m_bytes.find(headerEnd);
        if (std::min(end, m_bytes.size()) > m_limits.header)
            return failure("lsp.frame", "the header of a message is too long");
        if (end == std::string::npos)
            return std::optional<std::string>();
        m_length = lengthIn(std::string_view(m_bytes).substr(0, end));
        if (!m_length)
            return failure("lsp.frame", "a message without Content-Length");
        if (*m_length > m_limits.body)
            return failure("lsp.frame", "a message is too long");
        m_bytes.erase(0, end + headerEnd.size());
    }
    if (m_bytes.size() < *m_length)
        return std::optional<std::string>();
    std::optional<std::string> body = m_bytes.substr(0, *m_length);
    m_bytes.erase(0, *m_length);
    m_length.reset();
    return body;
}

std::string framed(std::string_view body) {
    return "Content-Length: " + std::to_string(body.size()) + std::string(headerEnd) +
           std::string(body);
}

} // namespace fuselage::lsp
