// SPDX-License-Identifier: Apache-2.0
// Reading a protobuf message from a file, with limits.
#pragma once

#include "core/support/result.h"

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace fuselage::model_io {

/// Parses with limits on size and nesting; load.missing, load.too_large or load.parse.
Result<void> parseFile(const std::string& path, size_t maxBytes,
                       google::protobuf::Message& message);
Result<void> parseBytes(std::string_view bytes, google::protobuf::Message& message);

} // namespace fuselage::model_io
