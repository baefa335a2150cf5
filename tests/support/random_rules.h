// SPDX-License-Identifier: Apache-2.0
// Random .fuse files for property tests: every shape that the grammar knows, with names that mean
// nothing. Equal seeds give equal files.
#pragma once

#include "dsl/ast.h"

#include <cstdint>
#include <string>

namespace fuselage::testing_support {

/// A tree that the parser could have made.
dsl::ast::File randomFile(uint32_t seed);

/// The text with other white space, and with comments on lines of their own and behind words.
std::string scattered(const std::string& text, uint32_t seed);

} // namespace fuselage::testing_support
