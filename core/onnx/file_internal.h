// SPDX-License-Identifier: Apache-2.0
// Reading a protobuf message from a file, and writing a file so that nothing half-written is left.
#pragma once

#include "core/support/result.h"

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fuselage::model_io {

/// Parses with limits on size and nesting; load.missing, load.too_large or load.parse.
Result<void> parseFile(const std::string& path, size_t maxBytes,
                       google::protobuf::Message& message);
Result<void> parseBytes(std::string_view bytes, google::protobuf::Message& message);

/// Writes beside the path and renames; a crash leaves the old file or none.
Result<void> writeFile(std::string_view bytes, const std::string& path);

/// The same from pieces, each at its offset; gaps are zero.
struct Piece {
    uint64_t offset = 0;
    const std::byte* data = nullptr;
    size_t size = 0;
};

Result<void> writeFile(const std::vector<Piece>& pieces, const std::string& path);

} // namespace fuselage::model_io
