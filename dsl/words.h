// SPDX-License-Identifier: Apache-2.0
// The fixed words of the language with one line about each: for completion and hover. What the
// tables of core know (operators, functions, element types, members) is not repeated here.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fuselage::dsl {

enum class WordPlace {
    Item,       ///< begins an item of a file
    Clause,     ///< begins a clause of a rule
    Statement,  ///< begins a statement of `match`
    Term,       ///< stands before an operator, or is a value
    Flag,       ///< in a type
    Modifier,   ///< behind a rule's name
    Member,     ///< of a value: x.shape
    RootMember, ///< of a root: gain.us
    Root,       ///< gain, device ...
    Gate,
    Numeric,
    Policy, ///< of `escape`
    Test,   ///< begins a line of a test
    Expect, ///< behind `expect`
    Phase,
    Selection, ///< behind `by`
    Pipeline,  ///< behind a phase
    Trait,
};

struct WordRow {
    WordPlace place;
    const char* word;
    const char* documentation;
    const char* of = "";   ///< RootMember: its root
    const char* unit = ""; ///< RootMember
};

std::span<const WordRow> wordRows();

/// The first row of that word at any place, or null. `of`: a root, for its members.
const WordRow* findWord(std::string_view word, std::string_view of = {});

/// The row of that word at that place, or null.
const WordRow* findWord(std::string_view word, WordPlace place);

/// Words between the parts of something, which no place offers: `and`, `with`, `outs` ...
std::span<const std::string_view> jointWords();

/// Members of values, and traits, as tables in Markdown, as they stand in dsl/README.md.
std::string membersAsMarkdown();
std::string traitsAsMarkdown();

} // namespace fuselage::dsl
