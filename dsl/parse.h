// SPDX-License-Identifier: Apache-2.0
// .fuse text -> AST. Reports every syntax error that it can tell apart and returns what it
// understood; elements that it did not understand are left out.
#pragma once

#include "core/support/diagnostic.h"
#include "dsl/ast.h"
#include "dsl/tokens.h"

#include <optional>
#include <vector>

namespace fuselage::dsl {

struct ParsedFile {
    ast::File file;
    std::vector<Token> tokens;
    Diagnostics diagnostics;
};

/// Parses the text of `source`. Codes: E0101 syntax, E0102 unclosed string, E0103 unclosed bracket,
/// E0104 language version, E0105 nested too deep, E0106 stray character.
ParsedFile parse(const SourceSet& sources, uint32_t source);

/// Offset of the first syntax error of a text; none: it has none.
std::optional<uint32_t> firstErrorOf(const std::string& text);

} // namespace fuselage::dsl
