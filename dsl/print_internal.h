// SPDX-License-Identifier: Apache-2.0
// Shared by print.cpp and print_expression.cpp.
#pragma once

#include "dsl/print.h"

namespace fuselage::dsl {

/// Appends `item`, with the separator before it unless `out` is empty.
void appendItem(std::string& out, const char* separator, const std::string& item);

/// The text in quotes, escaped so that it is read back as it is.
std::string quotedText(const std::string& text);

} // namespace fuselage::dsl
