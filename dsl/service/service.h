// SPDX-License-Identifier: Apache-2.0
// The language service: everything an editor asks about .fuse texts, for Studio's editor and for
// `fuselage lsp` alike. Offsets are bytes; texts may be broken anywhere. Knows no model: what a
// rule does to one is added by the caller.
#pragma once

#include "dsl/load.h"
#include "dsl/service/occurrences.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::dsl {

/// How a piece of text is coloured.
enum class Colour : uint8_t {
    Keyword,
    Operator, ///< an ONNX operator
    Pattern,  ///< pattern or class
    Rule,
    Function,
    Value,
    Definition, ///< where a value gets its name
    Dimension,
    Attribute,
    Word, ///< fixed words, dtypes, traits, phases
    Number,
    String,
    Comment,
    Documentation,
    Mark,
    Wrong, ///< stray or unclosed
};

struct Highlight {
    uint32_t begin = 0, end = 0;
    Colour colour = Colour::Mark;
};

struct Completion {
    std::string label;
    std::string insert;        ///< text to put in place of the word at the cursor
    std::string kind;          ///< "operator", "attribute", "value", "keyword", "pattern" ...
    std::string detail;        ///< one line beside the label
    std::string documentation; ///< Markdown, may be empty
};

struct Hover {
    uint32_t begin = 0, end = 0;
    std::string markdown;
};

/// What the brackets around the cursor want.
struct Signature {
    std::string label;                                     ///< "Conv(X, W, B?)"
    std::string documentation;                             ///< Markdown, may be empty
    std::vector<std::pair<uint32_t, uint32_t>> parameters; ///< places in the label
    uint32_t active = 0; ///< the parameter at the cursor; none where it is past the last one
};

/// A piece of a text of the service, by its name.
struct Place {
    std::string name;
    uint32_t begin = 0, end = 0;

    friend bool operator==(const Place&, const Place&) = default;
};

struct TextEdit {
    Place place;
    std::string text;
};

/// An item for outlines.
struct Symbol {
    std::string name;
    std::string kind;                    ///< "rule", "pattern", "form", "class", "function" ...
    std::string detail;                  ///< first line of its documentation
    uint32_t begin = 0, end = 0;         ///< the whole item
    uint32_t nameBegin = 0, nameEnd = 0; ///< its name
};

struct Fold {
    uint32_t begin = 0, end = 0; ///< from an opening brace to its closing one
};

/// A change that mends or improves the text.
struct CodeAction {
    std::string title;
    std::vector<TextEdit> edits;
};

/// Words that only a caller knows.
struct ServiceWords {
    std::vector<std::string> zoo;     ///< for `zoo name;`
    std::vector<std::string> imports; ///< for `import "..."`
};

class LanguageService {
public:
    /// `areOneProgram`: all texts are loaded together; else each with what it imports alone.
    LanguageService(ImportResolver resolver, ServiceWords words, bool areOneProgram = true);
    ~LanguageService();

    /// Opens or replaces a text. `importPath` as in RuleInput.
    void set(const std::string& name, std::string text, const std::string& importPath = {});
    void remove(const std::string& name);
    bool has(const std::string& name) const;
    /// Imported texts are asked of the resolver again here, and when a text is diagnosed that
    /// changed. True when one changed, came or went.
    bool readImportsAgain();
    const std::string& text(const std::string& name) const;

    /// Mistakes in this text; spans point into sources(name) until the next set() or remove().
    std::vector<Diagnostic> diagnose(const std::string& name);
    const SourceSet& sources(const std::string& name);

    std::vector<Highlight> highlight(const std::string& name);
    std::vector<Completion> complete(const std::string& name, uint32_t offset);
    std::optional<Hover> hover(const std::string& name, uint32_t offset);
    std::optional<Signature> signature(const std::string& name, uint32_t offset);
    /// Also in imported files, whose name is then that of the import.
    std::optional<Place> definition(const std::string& name, uint32_t offset);
    std::vector<Place> references(const std::string& name, uint32_t offset);
    /// The name at the offset where it is one that may be changed. Error "rename.refused".
    Result<Place> renamable(const std::string& name, uint32_t offset);
    /// Error "rename.refused" says why: not a name of the person's own, or the new one is taken or
    /// means something else where it would come to stand.
    Result<std::vector<TextEdit>> rename(const std::string& name, uint32_t offset,
                                         const std::string& to);
    std::vector<Symbol> symbols(const std::string& name);
    std::vector<Fold> folds(const std::string& name);
    /// The whole text in canonical form; texts with syntax errors stay as they are.
    std::string format(const std::string& name);
    /// The white space in this range as format() leaves it.
    std::vector<TextEdit> formatRange(const std::string& name, uint32_t begin, uint32_t end);
    /// What writes a guard of the proof, "`Conv[group == 1]`" or "`where N > 1`" or both, into the
    /// rule whose name stands at the offset; nothing where it has no place for it.
    std::vector<TextEdit> guarded(const std::string& name, uint32_t offset,
                                  const std::string& guard);
    /// Fixes of the mistakes that touch the range.
    std::vector<CodeAction> actions(const std::string& name, uint32_t begin, uint32_t end);

private:
    struct State;

    std::unique_ptr<State> m_state;
};

/// The text of an imported file as the service knows it, for showing a definition there.
std::vector<Highlight> highlightText(const std::string& text);

} // namespace fuselage::dsl
