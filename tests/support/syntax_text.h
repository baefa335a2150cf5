// SPDX-License-Identifier: Apache-2.0
// A tree of a .fuse file as text with everything in it but the places: two trees are the same when
// their texts are. For tests of the printer and the formatter.
#pragma once

#include "dsl/ast.h"

#include <string>

namespace fuselage::testing_support {

std::string syntaxText(const dsl::ast::File& file);

} // namespace fuselage::testing_support
