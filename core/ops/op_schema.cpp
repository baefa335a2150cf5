// SPDX-License-Identifier: Apache-2.0
#include "core/ops/op_schema.h"

#include "core/ops/attribute_schema.h"
#include "core/ops/embedded_operators.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <deque>
#include <span>
#include <unordered_map>

namespace fuselage {

namespace {

/// Opset of the normal form; operators that are newer have their first one.
constexpr int64_t formOpset = 17;

std::string_view textBefore(std::string_view& text, std::string_view mark) {
    const size_t end = text.find(mark);
    assert(end != std::string_view::npos && "operators.txt is made by its program");
    const std::string_view out = text.substr(0, end);
    text.remove_prefix(end + mark.size());
    return out;
}

std::vector<OperandSchema> operandSchemas(std::string_view text) {
    std::vector<OperandSchema> out;
    while (!text.empty()) {
        std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (word.empty())
            continue;
        OperandSchema& operand = out.emplace_back();
        if (const size_t colon = word.find(':'); colon != std::string_view::npos) {
            operand.type = word.substr(colon + 1);
            word = word.substr(0, colon);
        }
        operand.optional = word.ends_with('?');
        operand.variadic = word.ends_with('*') || word.ends_with('+');
        word.remove_suffix(operand.optional || operand.variadic ? 1 : 0);
        operand.name = word;
    }
    return out;
}

/// The next of the words that `mark` separates, taken off the text.
std::string_view takeWord(std::string_view& text, char mark) {
    const std::string_view word = text.substr(0, text.find(mark));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

/// Of "float,double"; types that no graph here holds are left out.
ElementTypes elementTypes(std::string_view names) {
    ElementTypes out;
    while (!names.empty())
        if (const auto type = dtypeFromName(takeWord(names, ',')))
            out.add(*type);
    return out;
}

std::vector<DType> typesThatAre(bool (*property)(DType)) {
    std::vector<DType> out;
    for (int type = static_cast<int>(DType::Float32); type <= static_cast<int>(DType::String);
         ++type)
        if (property(static_cast<DType>(type)))
            out.push_back(static_cast<DType>(type));
    return out;
}

ElementTypes setOf(bool (*property)(DType)) {
    ElementTypes out;
    for (DType type : typesThatAre(property))
        out.add(type);
    return out;
}

bool isNumber(DType type) {
    return isFloat(type) || isInteger(type);
}

/// One line: "Clip 13 : input:T min?:T max?:T -> output:T | to:int! | T=float,double".
class Entry {
public:
    explicit Entry(std::string_view line) : m_rest(line) {
        m_name = textBefore(m_rest, " ");
        const std::string_view since = textBefore(m_rest, " : ");
        std::from_chars(since.data(), since.data() + since.size(), m_schema.since);
    }

    std::string_view name() const { return m_name; }

    /// Operators withdrawn at a version have neither operands nor attributes.
    OpSchema schema() {
        m_schema.inputs = operandSchemas(textBefore(m_rest, "->"));
        m_schema.outputs = operandSchemas(textBefore(m_rest, "|"));
        const std::string attributes(m_rest.substr(0, m_rest.find(" | ")));
        m_schema.attributes = parseAttributeSchemas(attributes.c_str());
        m_schema.types = m_rest.size() > attributes.size()
                             ? m_rest.substr(attributes.size() + std::string_view(" | ").size())
                             : std::string_view();
        return std::move(m_schema);
    }

private:
    std::string_view m_rest, m_name;
    OpSchema m_schema;
};

/// By "Clip" or "com.microsoft.QAttention", oldest first.
using Schemas = std::unordered_map<std::string_view, std::vector<OpSchema>>;

void addTo(Schemas& out, std::string_view text) {
    while (!text.empty()) {
        const std::string_view line = takeWord(text, '\n');
        if (line.empty() || line.starts_with('#'))
            continue;
        Entry entry(line);
        std::vector<OpSchema>& forms = out[entry.name()];
        OpSchema form = entry.schema();
        const auto newer = std::find_if(forms.begin(), forms.end(), [&](const OpSchema& other) {
            return other.since > form.since;
        });
        forms.insert(newer, std::move(form));
    }
}

Schemas& schemas() {
    static Schemas all = [] {
        Schemas out;
        for (std::string_view text : embeddedOperators())
            addTo(out, text);
        return out;
    }();
    return all;
}

/// "NAME SINCE : INPUTS -> OUTPUTS | ATTRIBUTES"
bool isEntry(std::string_view line) {
    size_t at = 0;
    for (std::string_view mark : {" ", " : ", "->", "|"}) {
        const size_t found = line.find(mark, at);
        if (found == std::string_view::npos)
            return false;
        at = mark == " " ? found : found + mark.size();
        if (mark == " " &&
            (found + 1 >= line.size() || line[found + 1] < '1' || line[found + 1] > '9'))
            return false;
    }
    return true;
}

std::span<const OpSchema> formsOf(std::string_view domain, std::string_view name) {
    const std::string key =
        domain.empty() ? std::string(name) : std::string(domain) + "." + std::string(name);
    const auto found = schemas().find(key);
    return found == schemas().end() ? std::span<const OpSchema>() : found->second;
}

bool isWithdrawn(const OpSchema& schema) {
    return schema.inputs.empty() && schema.outputs.empty();
}

} // namespace

const AttributeSchema* OpSchema::attribute(std::string_view name) const {
    const auto found =
        std::find_if(attributes.begin(), attributes.end(),
                     [&](const AttributeSchema& schema) { return schema.name == name; });
    return found == attributes.end() ? nullptr : &*found;
}

bool OpSchema::isOptionalInput(size_t slot) const {
    return slot < inputs.size() && inputs[slot].optional;
}

ElementTypes OpSchema::inputTypes(size_t slot) const {
    if (inputs.empty() || (slot >= inputs.size() && !inputs.back().variadic))
        return {};
    const std::string_view wanted = inputs[std::min(slot, inputs.size() - 1)].type;
    for (std::string_view rest = types; !rest.empty();) {
        std::string_view constraint = takeWord(rest, ' ');
        if (takeWord(constraint, '=') == wanted)
            return elementTypes(constraint);
    }
    return elementTypes(wanted);
}

std::string ElementTypes::text() const {
    if (!restricted())
        return "any type";
    if (*this == setOf(isFloat))
        return "a float type";
    if (*this == setOf(isInteger))
        return "an integer type";
    if (*this == setOf(isNumber))
        return "a number";
    std::string out;
    std::vector<DType> types = typesThatAre([](DType) { return true; });
    std::erase_if(types, [&](DType type) { return !allows(type); });
    for (size_t i = 0; i < types.size(); ++i)
        out += (i == 0                  ? ""
                : i + 1 == types.size() ? " or "
                                        : ", ") +
               std::string(nameOf(types[i]));
    return out;
}

const OpSchema* publishedSchema(std::string_view domain, std::string_view name, int64_t version) {
    const OpSchema* newest = nullptr;
    for (const OpSchema& schema : formsOf(domain, name))
        if (schema.since <= version)
            newest = &schema;
    return newest && !isWithdrawn(*newest) ? newest : nullptr;
}

const std::vector<std::string>& publishedOperators() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> out;
        for (const auto& [name, forms] : schemas())
            if (!isWithdrawn(forms.back()))
                out.emplace_back(name);
        std::sort(out.begin(), out.end());
        return out;
    }();
    return all;
}

int64_t firstOpset(std::string_view name) {
    const std::span<const OpSchema> forms = formsOf("", name);
    return forms.empty() ? 1 : forms.front().since;
}

const OpSchema* publishedSchema(Op op) {
    const OpRow& row = rowOf(op);
    const int64_t version = std::max<int64_t>(formOpset, row.since);
    if (const OpSchema* form = publishedSchema(row.domain, row.name, version))
        return form;
    for (const OpSchema& schema : formsOf(row.domain, row.name)) // the first one was withdrawn
        if (schema.since > version && !isWithdrawn(schema))
            return &schema;
    return nullptr;
}

namespace {

ElementTypes typesOfAllForms(Op op, size_t slot) {
    const OpSchema* form = publishedSchema(op);
    ElementTypes out = form ? form->inputTypes(slot) : ElementTypes();
    if (!out.restricted())
        return {};
    const OpRow& row = rowOf(op);
    for (const OpSchema& schema : formsOf(row.domain, row.name)) {
        if (schema.since <= form->since || isWithdrawn(schema))
            continue;
        const ElementTypes newer = schema.inputTypes(slot);
        if (!newer.restricted())
            return {};
        out.add(newer);
    }
    const std::vector<DType> floats = typesThatAre(isFloat);
    if (std::any_of(floats.begin(), floats.end(), [&](DType type) { return out.allows(type); }))
        out.add(setOf(isFloat));
    return out;
}

} // namespace

ElementTypes inputTypesOf(Op op, size_t slot) {
    constexpr size_t mostKept = 3; // what is asked again and again
    static const std::vector<ElementTypes> kept = [] {
        std::vector<ElementTypes> out;
        for (const OpRow& row : allRows())
            for (size_t each = 0; each < mostKept; ++each) {
                const size_t index = static_cast<size_t>(row.op) * mostKept + each;
                out.resize(std::max(out.size(), index + 1));
                out[index] = typesOfAllForms(row.op, each);
            }
        return out;
    }();
    const size_t index = static_cast<size_t>(op) * mostKept + slot;
    return slot < mostKept && index < kept.size() ? kept[index] : typesOfAllForms(op, slot);
}

bool isParameterInput(Op op, size_t slot) {
    const OpSchema* newest = publishedSchema(rowOf(op).domain, rowOf(op).name, INT64_MAX);
    const ElementTypes types = newest ? newest->inputTypes(slot) : ElementTypes();
    return !hasTrait(op, Elementwise) && types.restricted() && !types.allows(DType::Float32) &&
           !types.allows(DType::Int8) && !types.allows(DType::UInt8) &&
           (types.allows(DType::Int64) || types.allows(DType::Bool));
}

int64_t newestPublishedOpset() {
    int64_t newest = 1;
    for (const auto& [name, forms] : schemas())
        if (name.find('.') == std::string_view::npos)
            for (const OpSchema& form : forms)
                newest = std::max(newest, form.since);
    return newest;
}

Result<void> publishOperators(std::string_view text) {
    static std::deque<std::string> kept; // schemas are pieces of it
    for (std::string_view rest = text; !rest.empty();)
        if (const std::string_view line = takeWord(rest, '\n');
            !line.empty() && !line.starts_with('#') && !isEntry(line))
            return failure("schema.line", "the line does not say what an operator takes",
                           std::string(line), "write it as resources/README.md has it");
    addTo(schemas(), kept.emplace_back(text));
    return {};
}

int64_t attributeSince(Op op, std::string_view name) {
    const OpSchema* form = publishedSchema(op);
    if (!form || form->attribute(name))
        return 1;
    const OpRow& row = rowOf(op);
    for (const OpSchema& schema : formsOf(row.domain, row.name))
        if (schema.since > form->since && schema.attribute(name))
            return schema.since;
    return 1;
}

} // namespace fuselage
