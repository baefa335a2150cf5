// SPDX-License-Identifier: Apache-2.0
// Names of a person's own: where they stand, whether they may be changed, and to what.
#include "core/rewrite/functions.h"
#include "core/rewrite/members.h"
#include "dsl/service/texts_internal.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace fuselage::dsl {

namespace {

using Kind = Occurrence::Kind;

/// "com.acme.Gated".
bool isQualifiedName(const std::string& text) {
    size_t from = 0, words = 0;
    for (size_t dot = 0; dot != std::string::npos; from = dot + 1, ++words) {
        dot = text.find('.', from);
        const std::string word = text.substr(from, dot - from);
        if (word.empty() || isReserved(word) || (word[0] >= '0' && word[0] <= '9') ||
            !std::all_of(word.begin(), word.end(),
                         [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }))
            return false;
    }
    return words > 1;
}

bool sameCase(const std::string& a, const std::string& b) {
    auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    return upper(a[0]) == upper(b[0]);
}

bool isAlike(const Occurrence& a, const Occurrence& b) {
    return a.kind == b.kind || (isCallable(a.kind) && isCallable(b.kind));
}

/// A text where the new name is used or known already; empty when there is none.
std::string meansOtherwise(Texts& texts, const Occurrence& thing, const std::string& to) {
    for (const std::string& name : texts.names()) {
        const std::vector<Occurrence>& all = texts.find(name)->occurrences;
        auto isUsed = [&](const Occurrence& other) {
            return other.text == to && isAlike(other, thing);
        };
        if (std::any_of(all.begin(), all.end(), isUsed))
            return name;
        const bool readsThing = std::any_of(all.begin(), all.end(), [&](const Occurrence& other) {
            return other.text == thing.text && isAlike(other, thing);
        });
        Occurrence wanted = thing;
        wanted.text = to;
        if (readsThing)
            if (auto known = texts.define(name, wanted))
                return known->place.name;
    }
    return {};
}

/// An attribute that an `op` declares: a value in its item, an attribute where the operator is
/// used.
struct DeclaredAttribute {
    Definition op;
    std::string name;

    uint32_t item() const {
        return static_cast<uint32_t>(op.item - op.text->parsed.file.items.data());
    }

    bool isMeantBy(const Occurrence& other, const ParsedText& in) const {
        if (other.text != name)
            return false;
        if (other.kind == Kind::Attribute)
            return other.of == std::get<ast::Operator>(*op.item).pattern.name.text;
        return &in == op.text && other.kind == Kind::Value && other.item == item();
    }
};

std::optional<DeclaredAttribute> attributeMeant(Texts& texts, const std::string& name,
                                                const ParsedText& text, const Occurrence& thing) {
    std::optional<Definition> op;
    if (thing.kind == Kind::Value) {
        op = Definition{{name, 0, 0}, &text.parsed.file.items[thing.item], &text};
    } else if (thing.kind == Kind::Attribute) {
        Occurrence use;
        use.kind = Kind::Operator;
        use.text = thing.of;
        op = texts.define(name, use);
    }
    const auto* declared = op ? std::get_if<ast::Operator>(op->item) : nullptr;
    if (!declared)
        return std::nullopt;
    for (const ast::OperatorAttribute& attribute : declared->attributes)
        if (attribute.name.text == thing.text)
            return DeclaredAttribute{*op, thing.text};
    return std::nullopt;
}

bool isLocal(const Occurrence& thing) {
    return thing.kind == Kind::Value || thing.kind == Kind::Dimension;
}

/// Why the thing keeps its name; empty when it is the person's own.
std::string whyItStays(Texts& texts, const std::string& name, const ParsedText& text,
                       const Occurrence& thing) {
    if (const auto attribute = attributeMeant(texts, name, text, thing)) {
        const std::string& where = attribute->op.place.name;
        return texts.has(where)
                   ? ""
                   : "`" + thing.text + "` is declared in `" + where + "`, which is not open";
    }
    if (thing.kind == Kind::Value) {
        const bool isBound = std::any_of(
            text.occurrences.begin(), text.occurrences.end(),
            [&](const Occurrence& other) { return !other.asked && sameThing(other, thing); });
        return isBound ? "" : "`" + thing.text + "` is a word of the language, or nothing binds it";
    }
    if (thing.kind == Kind::Dimension)
        return {};
    const auto definition = texts.define(name, thing);
    if (!definition)
        return "`" + thing.text + "` is not defined in a .fuse file";
    const std::string& where = definition->place.name;
    return texts.has(where)
               ? ""
               : "`" + thing.text + "` is defined in `" + where + "`, which is not open";
}

/// Why a word is no name for the thing; empty when it may be.
std::string whyNoName(const Occurrence& thing, const std::string& to) {
    const bool isQualified = thing.text.find('.') != std::string::npos;
    if (isQualified ? !isQualifiedName(to) : !isName(to))
        return "`" + to + "` is not a name" + (isQualified ? " with a domain" : "");
    if (!isQualified && !sameCase(thing.text, to))
        return "`" + to + "` must begin " + (thing.text[0] >= 'a' ? "lower-case" : "upper-case") +
               " like `" + thing.text + "`";
    if (!isLocal(thing) && (operatorNamed(to) || publishedNamed(to)))
        return "`" + to + "` is an operator";
    if (isItemKeyword(to))
        return "`" + to + "` begins an item";
    if (isLocal(thing) ? isRoot(to) : findFunction(to) != nullptr)
        return "`" + to + "` is a word of the language";
    return {};
}

} // namespace

bool isName(const std::string& text) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    if (text.empty() || !letter(text[0]) || isReserved(text))
        return false;
    return std::all_of(text.begin(), text.end(),
                       [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::vector<Place> LanguageService::references(const std::string& name, uint32_t offset) {
    Texts& texts = m_state->texts;
    const ParsedText* text = texts.find(name);
    const Occurrence* thing = text ? occurrenceAt(text->occurrences, offset) : nullptr;
    std::vector<Place> out;
    if (!thing)
        return out;
    const auto attribute = attributeMeant(texts, name, *text, *thing);
    auto collect = [&](const std::string& where, const ParsedText& in) {
        for (const Occurrence& other : in.occurrences) {
            const bool callable = isCallable(other.kind) && isCallable(thing->kind);
            const bool isSame = attribute  ? attribute->isMeantBy(other, in)
                                : callable ? other.text == thing->text
                                           : sameThing(other, *thing);
            if (isSame)
                out.push_back({where, other.span.begin, other.span.end});
        }
    };
    if (!attribute && !isGlobal(thing->kind) && !isCallable(thing->kind))
        collect(name, *text);
    else
        for (const std::string& other : texts.names())
            collect(other, *texts.find(other));
    return out;
}

Result<Place> LanguageService::renamable(const std::string& name, uint32_t offset) {
    const ParsedText* text = m_state->texts.find(name);
    const Occurrence* thing = text ? occurrenceAt(text->occurrences, offset) : nullptr;
    const std::string why = thing ? whyItStays(m_state->texts, name, *text, *thing)
                                  : std::string("no name stands here");
    if (!why.empty())
        return failure("rename.refused", why);
    return Place{name, thing->span.begin, thing->span.end};
}

Result<std::vector<TextEdit>> LanguageService::rename(const std::string& name, uint32_t offset,
                                                      const std::string& to) {
    auto refuse = [](const std::string& why) { return failure("rename.refused", why); };
    if (auto place = renamable(name, offset); !place)
        return failure(place.error());
    Texts& texts = m_state->texts;
    const ParsedText& text = *texts.find(name);
    const Occurrence& thing = *occurrenceAt(text.occurrences, offset);
    if (std::string why = whyNoName(thing, to); !why.empty())
        return refuse(why);
    Occurrence wanted = thing;
    wanted.text = to;
    for (const Occurrence& other : text.occurrences)
        if (sameThing(other, wanted))
            return refuse("`" + to + "` is taken");
    if (auto attribute = attributeMeant(texts, name, text, thing)) {
        attribute->name = to;
        const auto& all = attribute->op.text->occurrences;
        if (std::any_of(all.begin(), all.end(), [&](const Occurrence& other) {
                return attribute->isMeantBy(other, *attribute->op.text);
            }))
            return refuse("`" + to + "` is taken");
    } else if (!isLocal(thing)) {
        if (std::string where = meansOtherwise(texts, thing, to); !where.empty())
            return refuse("`" + to + "` means something else in `" + where + "`");
    }
    std::vector<TextEdit> edits;
    for (const Place& place : references(name, offset))
        edits.push_back({place, to});
    return edits;
}

} // namespace fuselage::dsl
