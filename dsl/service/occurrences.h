// SPDX-License-Identifier: Apache-2.0
// Every name in a parsed file: where it stands, what kind of thing it names, whether it is defined
// there. Highlighting, hover, definitions, references and renaming all read this one list.
#pragma once

#include "dsl/parse.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fuselage::dsl {

struct Occurrence {
    enum class Kind : uint8_t {
        Rule,
        Pattern,
        Class,
        Function,  ///< of the language or of a `fn`
        Operator,  ///< an upper-case name that is no class or pattern of this file
        Trait,     ///< @reduction
        Attribute, ///< of the operator `of`
        Operand,   ///< schema name of an input of the operator `of`
        Value,
        Dimension,
        Member, ///< x.shape
        Phase,
        Pipeline,
        Import,
        Word, ///< a word with a fixed meaning where it stands: `always`, `export`, `float16`
    };

    Kind kind = Kind::Word;
    std::string text;
    Span span;
    bool defines = false;
    uint32_t item = 0;   ///< index of the item it stands in; values and dimensions end with it
    std::string of = {}; ///< the operator that makes a Value, where its definition says one
    bool asked = false;  ///< a Value of an expression, which binds no name
};

/// In the order of the text. What the parser did not understand is not in it.
std::vector<Occurrence> occurrencesOf(const ast::File& file);

/// The one that covers the offset (also directly behind it), or null.
const Occurrence* occurrenceAt(const std::vector<Occurrence>& all, uint32_t offset);

/// Whether two occurrences of one file name the same thing.
bool sameThing(const Occurrence& a, const Occurrence& b);

/// Names that other files can see: rules, patterns, classes, functions, pipelines.
bool isGlobal(Occurrence::Kind kind);

} // namespace fuselage::dsl
