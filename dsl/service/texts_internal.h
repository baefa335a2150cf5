// SPDX-License-Identifier: Apache-2.0
// What the parts of the language service share: the texts, each parsed by itself, and all of them
// loaded together. Both are made when asked for and dropped when a text changes.
#pragma once

#include "core/ops/op_table.h"
#include "core/rewrite/custom_operator.h"
#include "dsl/service/service.h"

namespace fuselage::dsl {

/// One text, parsed alone.
struct ParsedText {
    SourceSet sources;
    ParsedFile parsed;
    std::vector<Occurrence> occurrences;

    explicit ParsedText(const std::string& name, const std::string& text);

    const std::string& text() const { return sources[parsed.file.source].text(); }
};

/// A thing that is defined somewhere.
struct Definition {
    Place place; ///< of its name
    const ast::Item* item = nullptr;
    const ParsedText* text = nullptr;
};

class Texts {
public:
    Texts(ImportResolver resolver, bool areOneProgram)
        : m_resolver(std::move(resolver)), m_areOneProgram(areOneProgram) {}

    void set(const std::string& name, std::string text, const std::string& importPath);
    void remove(const std::string& name);
    bool has(const std::string& name) const { return m_texts.contains(name); }

    /// Parsed; null when there is no such text.
    const ParsedText* find(const std::string& name);
    /// An import as files write it: a text of the service or of the resolver; null when neither.
    const ParsedText* imported(const std::string& path);

    /// Asks the resolver again for all that was imported through it. True when a text changed,
    /// came or went.
    bool readImportsAgain();

    /// All texts of the service.
    std::vector<std::string> names() const;

    /// What is compiled together, for diagnostics.
    struct Loaded {
        SourceSet sources;
        LoadedRules rules;
    };

    /// All texts, or the text and what it imports where each is a program of its own.
    const Loaded& loaded(const std::string& name);

    /// Where the thing is defined: in the text itself, then in what it imports, then in the others.
    std::optional<Definition> define(const std::string& name, const Occurrence& thing);

    /// All that a text sees: its own and imported definitions of these kinds.
    std::vector<Definition> visible(const std::string& name);

private:
    struct Entry {
        std::string text, importPath;
        std::unique_ptr<ParsedText> parsed;
    };

    /// The text and what it imports, directly or not, each once.
    std::vector<std::pair<std::string, const ParsedText*>> reach(const std::string& name);

    /// What the resolver gives, asked once: a definition and a diagnosis speak of one text.
    const Result<std::string>& resolved(const std::string& path);

    ImportResolver m_resolver;
    std::map<std::string, Result<std::string>> m_resolved; ///< by path
    std::map<std::string, Entry> m_texts;
    std::map<std::string, std::unique_ptr<ParsedText>> m_imports;
    std::map<std::string, std::unique_ptr<Loaded>> m_loaded; ///< "": all together
    bool m_areOneProgram;
};

struct LanguageService::State {
    Texts texts;
    ServiceWords words;
};

std::optional<Hover> hoverAt(Texts& texts, const std::string& name, uint32_t offset);
std::optional<Signature> signatureAt(Texts& texts, const std::string& name, uint32_t offset);
std::vector<Completion> completionsAt(Texts& texts, const ServiceWords& words,
                                      const std::string& name, uint32_t offset);

/// As LanguageService::formatRange and LanguageService::guarded.
std::vector<TextEdit> formatEdits(const std::string& name, const std::string& text, uint32_t begin,
                                  uint32_t end);
std::vector<TextEdit> guardEdits(const ParsedText& text, const std::string& name, uint32_t offset,
                                 const std::string& guard);

/// The advice of the message as a change of the text; nothing where it is none, or would leave as
/// many mistakes in the syntax.
std::optional<CodeAction> fixOf(const std::string& name, const ParsedText& text,
                                const Diagnostic& diagnostic);

/// "Conv(X, W, B?)" and its attributes, as Markdown.
std::string operatorMarkdown(Op op);
std::string operatorMarkdown(const CustomOperator& custom);

/// Attributes and inputs of an operator of any table, or that a text declares.
struct OperatorParts {
    std::vector<AttributeSchema> attributes;
    std::vector<std::string> inputs;
};

std::optional<OperatorParts> partsOf(Texts& texts, const std::string& name, const std::string& op);

/// Where the name of the operator begins whose last word is token `at`: "com.acme.Gated" is five.
size_t beginOfName(const std::vector<Token>& tokens, std::string_view text, size_t at);

/// The item's first line and its documentation, as Markdown.
std::string itemMarkdown(const Definition& definition);

/// Name, kind and documentation of an item; empty name for imports and opset lines.
Symbol symbolOf(const ast::Item& item);

/// A word that may name a value.
bool isName(const std::string& text);

/// Operators, patterns and classes share one name space where they are used.
bool isCallable(Occurrence::Kind kind);

} // namespace fuselage::dsl
