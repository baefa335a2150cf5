// SPDX-License-Identifier: Apache-2.0
// Messages on a byte stream: "Content-Length: N", an empty line, N bytes. Both parts are bounded,
// since the other side may send anything.
#pragma once

#include "core/support/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace fuselage::lsp {

struct FrameLimits {
    size_t header = 4096;
    size_t body = size_t{32} << 20;
};

/// Cuts a stream into message bodies.
class FrameReader {
public:
    explicit FrameReader(FrameLimits limits = {}) : m_limits(limits) {}

    void feed(std::string_view bytes) { m_bytes.append(bytes); }

    /// The next whole body; nothing while bytes are missing. Error "lsp.frame" when the stream
    /// cannot be followed any more.
    Result<std::optional<std::string>> next();

private:
    FrameLimits m_limits;
    std::string m_bytes;
    std::optional<size_t> m_length; ///< of the body whose header was read
};

/// The body with its header.
std::string framed(std::string_view body);

} // namespace fuselage::lsp
