// SPDX-License-Identifier: Apache-2.0
// What an editor makes of the edits that it is sent. For tests.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace fuselage::lsp_test {

/// The edits of one file as the text that they leave.
std::string withEdits(std::string text, nlohmann::json edits);

} // namespace fuselage::lsp_test
