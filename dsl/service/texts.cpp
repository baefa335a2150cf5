// SPDX-License-Identifier: Apache-2.0
#include "dsl/service/texts_internal.h"

#include <algorithm>
#include <set>

namespace fuselage::dsl {

namespace {

using Kind = Occurrence::Kind;

/// Whether the defining occurrence is what the use means; a use of a name that this file does not
/// define looks like an operator.
bool defines(const Occurrence& definition, const Occurrence& use) {
    if (!definition.defines || definition.text != use.text)
        return false;
    return definition.kind == use.kind || (isCallable(definition.kind) && isCallable(use.kind));
}

std::optional<Definition> definitionIn(const std::string& name, const ParsedText& text,
                                       const Occurrence& use) {
    for (const Occurrence& occurrence : text.occurrences)
        if (defines(occurrence, use))
            return Definition{{name, occurrence.span.begin, occurrence.span.end},
                              &text.parsed.file.items[occurrence.item],
                              &text};
    return std::nullopt;
}

} // namespace

bool isCallable(Kind kind) {
    return kind == Kind::Operator || kind == Kind::Pattern || kind == Kind::Class;
}

ParsedText::ParsedText(const std::string& name, const std::string& text)
    : parsed(parse(sources, sources.add(name, text))), occurrences(occurrencesOf(parsed.file)) {}

void Texts::set(const std::string& name, std::string text, const std::string& importPath) {
    Entry& entry = m_texts[name];
    if (entry.parsed && entry.text == text && entry.importPath == importPath)
        return;
    entry = {std::move(text), importPath, nullptr};
    m_loaded.clear();
}

void Texts::remove(const std::string& name) {
    m_texts.erase(name);
    m_loaded.clear();
}

const ParsedText* Texts::find(const std::string& name) {
    auto found = m_texts.find(name);
    if (found == m_texts.end())
        return nullptr;
    Entry& entry = found->second;
    if (!entry.parsed)
        entry.parsed = std::make_unique<ParsedText>(name, entry.text);
    return entry.parsed.get();
}

const ParsedText* Texts::imported(const std::string& path) {
    for (const auto& [name, entry] : m_texts)
        if (entry.importPath == path)
            return find(name);
    std::unique_ptr<ParsedText>& text = m_imports[path];
    if (!text)
        if (const Result<std::string>& found = resolved(path))
            text = std::make_unique<ParsedText>(path, *found);
    return text.get();
}

const Result<std::string>& Texts::resolved(const std::string& path) {
    if (auto known = m_resolved.find(path); known != m_resolved.end())
        return known->second;
    return m_resolved.emplace(path, m_resolver(path)).first->second;
}

bool Texts::readImportsAgain() {
    bool changed = false;
    for (auto& [path, known] : m_resolved) {
        Result<std::string> now = m_resolver(path);
        if (now ? known && *known == *now : !known)
            continue;
        known = std::move(now);
        m_imports.erase(path);
        changed = true;
    }
    if (changed)
        m_loaded.clear();
    return changed;
}

std::vector<std::string> Texts::names() const {
    std::vector<std::string> out;
    for (const auto& [name, entry] : m_texts)
        out.push_back(name);
    return out;
}

const Texts::Loaded& Texts::loaded(const std::string& name) {
    const std::string program = m_areOneProgram ? "" : name;
    if (auto found = m_loaded.find(program); found != m_loaded.end())
        return *found->second;
    readImportsAgain(); // with a text that changed, what it imports is read as it stands now
    std::unique_ptr<Loaded>& known = m_loaded[program];
    known = std::make_unique<Loaded>();
    std::vector<RuleInput> inputs;
    for (const auto& [other, entry] : m_texts)
        if (m_areOneProgram || other == name)
            inputs.push_back({other, entry.text, entry.importPath});
    auto resolve = [this](const std::string& path) -> Result<std::string> {
        for (const auto& [other, entry] : m_texts)
            if (!m_areOneProgram && entry.importPath == path)
                return entry.text;
        return resolved(path);
    };
    known->rules = loadRules(known->sources, inputs, resolve);
    return *known;
}

std::vector<std::pair<std::string, const ParsedText*>> Texts::reach(const std::string& name) {
    std::vector<std::pair<std::string, const ParsedText*>> out;
    std::set<const ParsedText*> seen;
    if (const ParsedText* own = find(name)) {
        out.emplace_back(name, own);
        seen.insert(own);
    }
    for (size_t i = 0; i < out.size(); ++i)
        for (const ast::Item& item : out[i].second->parsed.file.items)
            if (auto* import = std::get_if<ast::Import>(&item))
                if (const ParsedText* text = imported(import->path);
                    text && seen.insert(text).second)
                    out.emplace_back(text->sources[text->parsed.file.source].name(), text);
    return out;
}

std::optional<Definition> Texts::define(const std::string& name, const Occurrence& thing) {
    for (const auto& [where, text] : reach(name))
        if (auto found = definitionIn(where, *text, thing))
            return found;
    if (!isGlobal(thing.kind) && !isCallable(thing.kind))
        return std::nullopt;
    for (const std::string& other : names()) // `replaces` may name a rule of any loaded file
        if (auto found = definitionIn(other, *find(other), thing))
            return found;
    return std::nullopt;
}

std::vector<Definition> Texts::visible(const std::string& name) {
    std::vector<Definition> out;
    for (const auto& [where, text] : reach(name))
        for (const Occurrence& occurrence : text->occurrences)
            if (occurrence.defines &&
                (isGlobal(occurrence.kind) || occurrence.kind == Kind::Operator))
                out.push_back({{where, occurrence.span.begin, occurrence.span.end},
                               &text->parsed.file.items[occurrence.item],
                               text});
    return out;
}

std::optional<OperatorParts> partsOf(Texts& texts, const std::string& name, const std::string& op) {
    if (auto known = operatorNamed(op))
        return OperatorParts{attributesOf(*known), inputNamesOf(*known)};
    if (CustomOperatorPtr published = publishedNamed(op))
        return OperatorParts{published->attributes, published->inputs};
    Occurrence use;
    use.kind = Kind::Operator;
    use.text = op;
    const std::optional<Definition> found = texts.define(name, use);
    const auto* item = found ? std::get_if<ast::Operator>(found->item) : nullptr;
    if (!item)
        return std::nullopt;
    CustomOperator declared = declaredBy(*item);
    return OperatorParts{std::move(declared.attributes), std::move(declared.inputs)};
}

size_t beginOfName(const std::vector<Token>& tokens, std::string_view text, size_t at) {
    while (at >= 2 && textOf(tokens[at - 1], text) == "." &&
           tokens[at - 1].end == tokens[at].begin && tokens[at - 2].kind == Token::Kind::Word)
        at -= 2;
    return at;
}

} // namespace fuselage::dsl
