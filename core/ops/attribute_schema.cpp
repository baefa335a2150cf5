// SPDX-License-Identifier: Apache-2.0
#include "core/ops/attribute_schema.h"

#include "core/support/number_text.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace fuselage {

namespace {

// Splits at spaces that are not inside quotes.
std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    std::string word;
    bool quoted = false;
    for (char c : text) {
        quoted ^= c == '\'';
        if (c != ' ' || quoted) {
            word += c;
        } else if (!word.empty()) {
            out.push_back(std::move(word));
            word.clear();
        }
    }
    if (!word.empty())
        out.push_back(std::move(word));
    return out;
}

std::vector<std::string> listItems(std::string_view text) {
    assert(text.size() >= 2 && text.front() == '[' && text.back() == ']' && "list default");
    std::vector<std::string> out;
    std::string item;
    for (char c : text.substr(1)) {
        if (c != ',' && c != ']') {
            item += c;
        } else if (!item.empty()) {
            out.push_back(std::move(item));
            item.clear();
        }
    }
    return out;
}

// Files keep float attributes in 32 bits; defaults must compare equal to them.
double floatOf(const std::string& text) {
    return static_cast<double>(floatIn(text));
}

int64_t intOf(const std::string& text) {
    return std::strtoll(text.c_str(), nullptr, 10);
}

std::string unquoted(const std::string& text) {
    assert(text.size() >= 2 && text.front() == '\'' && text.back() == '\'' && "string default");
    return text.substr(1, text.size() - 2);
}

template <typename T>
std::vector<T> mapped(const std::string& text, T (*read)(const std::string&)) {
    std::vector<T> out;
    for (const std::string& item : listItems(text))
        out.push_back(read(item));
    return out;
}

AttributeValue fallbackOf(const std::string& type, const std::string& text) {
    if (type == "int")
        return intOf(text);
    if (type == "float")
        return floatOf(text);
    if (type == "string")
        return unquoted(text);
    if (type == "ints")
        return mapped(text, intOf);
    if (type == "floats")
        return mapped(text, floatOf);
    assert(type == "strings" && "attribute type without a written default");
    return mapped(text, unquoted);
}

AttributeSchema schemaOf(const std::string& word) {
    size_t colon = word.find(':');
    assert(colon != std::string::npos && "attribute without a type");
    AttributeSchema out;
    out.name = word.substr(0, colon);
    size_t equals = word.find('=', colon);
    out.type = word.substr(colon + 1, equals == std::string::npos ? equals : equals - colon - 1);
    if (equals != std::string::npos)
        out.fallback = fallbackOf(out.type, word.substr(equals + 1));
    if (out.type.ends_with('!')) {
        out.type.pop_back();
        out.required = true;
    }
    return out;
}

} // namespace

std::vector<AttributeSchema> parseAttributeSchemas(const char* text) {
    std::vector<AttributeSchema> out;
    for (const std::string& word : words(text))
        out.push_back(schemaOf(word));
    std::sort(out.begin(), out.end(),
              [](const AttributeSchema& a, const AttributeSchema& b) { return a.name < b.name; });
    return out;
}

} // namespace fuselage
