// SPDX-License-Identifier: Apache-2.0
// ONNX's textual syntax -> Graph. libonnx's parser knows neither names in backticks nor a graph
// followed by the functions of its fused nodes: names are replaced by placeholders before parsing
// and put back afterwards, and the text is cut into its definitions.
#include "core/onnx/model_text.h"
#include "core/onnx/parse_text_internal.h"
#include "core/onnx/reader_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fuselage::model_io {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int textOpset = 17;
constexpr const char* functionHeader =
    R"(<domain: "fuselage", opset_import: ["" : 17, "com.microsoft" : 1, "fuselage" : 1]> )";

/// What a value that is no tensor was declared as.
enum class Kind : uint8_t { Sequence, Optional, OptionalSequence };

struct Prepared {
    std::string text; ///< without comments, names in backticks replaced
    std::map<std::string, std::string> names;
    std::map<std::string, Kind> kinds; ///< of placeholders
};

Failure syntax(const std::string& message) {
    return failure("load.text", message, {}, "check the text against ONNX's textual syntax");
}

size_t skipSpace(const std::string& text, size_t at) {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0)
        ++at;
    return at;
}

bool isNameCharacter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// "seq(float[2]) x" becomes "float[2] placeholder": libonnx's parser knows tensors only.
void replaceContainers(Prepared& prepared) {
    struct Container {
        std::string open;
        std::string close;
        Kind kind;
    };

    std::string& text = prepared.text;
    for (const Container& container :
         {Container{"optional(seq(", "))", Kind::OptionalSequence},
          Container{"seq(", ")", Kind::Sequence}, Container{"optional(", ")", Kind::Optional}})
        for (size_t at = text.find(container.open); at != std::string::npos;
             at = text.find(container.open, at + 1)) {
            size_t inside = at + container.open.size();
            size_t close = text.find(container.close, inside);
            if ((at > 0 && isNameCharacter(text[at - 1])) || close == std::string::npos)
                continue;
            size_t begin = skipSpace(text, close + container.close.size());
            size_t end = begin;
            while (end < text.size() && isNameCharacter(text[end]))
                ++end;
            if (begin == end)
                continue;
            std::string name = text.substr(begin, end - begin);
            auto known = prepared.names.find(name);
            std::string placeholder = fmt::format("quoted_container_{}_", prepared.kinds.size());
            prepared.names.emplace(placeholder,
                                   known != prepared.names.end() ? known->second : name);
            prepared.kinds.emplace(placeholder, container.kind);
            text.replace(at, end - at, text.substr(inside, close - inside) + " " + placeholder);
        }
}

Result<Prepared> prepare(std::string_view text) {
    Prepared out;
    std::map<std::string, std::string, std::less<>> placeholders;
    int depth = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        if (depth > maxDepth)
            return syntax(fmt::format("graphs are nested deeper than {}", maxDepth));
        if (c == '#') {
            i = std::min(text.find('\n', i), text.size() - 1);
            out.text += '\n';
        } else if (c == '"' || c == '`') {
            size_t end = text.find(c, i + 1);
            if (end == std::string_view::npos)
                return syntax(fmt::format("`{}` is never closed", c));
            std::string inside(text.substr(i + 1, end - i - 1));
            if (c == '"') {
                out.text += '"' + inside + '"';
            } else {
                auto [at, added] = placeholders.emplace(
                    inside, fmt::format("quoted_name_{}_", placeholders.size()));
                if (added)
                    out.names.emplace(at->second, inside);
                out.text += at->second;
            }
            i = end;
        } else {
            out.text += c;
        }
    }
    replaceContainers(out);
    return out;
}

/// Wraps the type of a value that was declared as a container.
void restoreKind(Message& message, const std::map<std::string, Kind>& kinds) {
    auto* info = dynamic_cast<::onnx::ValueInfoProto*>(&message);
    auto kind = info ? kinds.find(info->name()) : kinds.end();
    if (kind == kinds.end())
        return;
    ::onnx::TypeProto element = info->type();
    auto* type = info->mutable_type();
    if (kind->second != Kind::Sequence)
        type = type->mutable_optional_type()->mutable_elem_type();
    if (kind->second != Kind::Optional)
        type = type->mutable_sequence_type()->mutable_elem_type();
    *type = std::move(element);
}

/// Position after the bracket that closes the one at `open`, outside strings; npos when none does.
size_t closing(const std::string& text, size_t open, char opens, char closes) {
    int depth = 0;
    for (size_t i = open; i < text.size(); ++i) {
        if (text[i] == '"')
            i = text.find('"', i + 1);
        if (i == std::string::npos)
            break;
        depth += text[i] == opens ? 1 : text[i] == closes ? -1 : 0;
        if (depth == 0)
            return i + 1;
    }
    return std::string::npos;
}

/// "name (inputs) => (outputs) <values> { nodes }" from `begin` on: where it ends.
size_t definitionEnd(const std::string& text, size_t begin) {
    size_t arrow = text.find("=>", begin);
    size_t outputs = arrow == std::string::npos ? arrow : text.find('(', arrow);
    if (outputs == std::string::npos)
        return outputs;
    size_t at = closing(text, outputs, '(', ')');
    if (at == std::string::npos)
        return at;
    at = skipSpace(text, at);
    if (at < text.size() && text[at] == '<') {
        at = closing(text, at, '<', '>');
        if (at == std::string::npos)
            return at;
        at = skipSpace(text, at);
    }
    return at < text.size() && text[at] == '{' ? closing(text, at, '{', '}') : std::string::npos;
}

template <typename Proto> Result<void> parseInto(Proto& proto, const std::string& text) {
    std::string problem = parseProblem(proto, text);
    return problem.empty() ? Result<void>() : syntax(std::move(problem));
}

/// Applies `change` to every message inside `message`, itself included.
void visit(Message& message, const auto& change) {
    change(message);
    std::vector<const FieldDescriptor*> fields;
    const auto* reflection = message.GetReflection();
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
        if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
            continue;
        if (!field->is_repeated()) {
            visit(*reflection->MutableMessage(&message, field), change);
            continue;
        }
        for (int i = 0; i < reflection->FieldSize(message, field); ++i)
            visit(*reflection->MutableRepeatedMessage(&message, field, i), change);
    }
}

/// Replaces placeholders in the string fields of one message.
void restoreNames(Message& message, const std::map<std::string, std::string>& names) {
    std::vector<const FieldDescriptor*> fields;
    const auto* reflection = message.GetReflection();
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
        if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING)
            continue;
        for (int i = 0; field->is_repeated() && i < reflection->FieldSize(message, field); ++i) {
            auto found = names.find(reflection->GetRepeatedString(message, field, i));
            if (found != names.end())
                reflection->SetRepeatedString(&message, field, i, found->second);
        }
        if (field->is_repeated())
            continue;
        auto found = names.find(reflection->GetString(message, field));
        if (found != names.end())
            reflection->SetString(&message, field, found->second);
    }
}

void addOpset(::onnx::ModelProto& model, const std::string& domain, int64_t version) {
    auto* opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
}

/// A graph and the functions of its fused nodes.
Result<void> parseDefinitions(const std::string& text, ::onnx::ModelProto& model) {
    model.set_ir_version(8);
    addOpset(model, "", textOpset);
    addOpset(model, "com.microsoft", 1);
    addOpset(model, "fuselage", 1);
    size_t end = definitionEnd(text, 0);
    if (auto ok = parseInto(*model.mutable_graph(), text.substr(0, end)); !ok)
        return ok;
    std::set<std::string> functions;
    while (end < text.size()) {
        size_t begin = skipSpace(text, end);
        if (begin == text.size())
            break;
        end = definitionEnd(text, begin);
        auto* function = model.add_functions();
        std::string piece = text.substr(begin, end == std::string::npos ? end : end - begin);
        if (auto ok = parseInto(*function, functionHeader + piece); !ok)
            return ok;
        functions.insert(function->name());
    }
    visit(model, [&](Message& message) {
        auto* node = dynamic_cast<::onnx::NodeProto*>(&message);
        if (node && node->domain().empty() && functions.contains(node->op_type()))
            node->set_domain("fuselage");
    });
    return {};
}

} // namespace

Result<Graph> loadText(std::string_view text) {
    return loadText(text, {});
}

Result<Graph> loadText(std::string_view text, const LoadOptions& options) {
    auto prepared = prepare(text);
    if (!prepared)
        return failure(prepared.error());
    ::onnx::ModelProto model;
    size_t first = skipSpace(prepared->text, 0);
    bool whole = first < prepared->text.size() && prepared->text[first] == '<';
    auto parsed =
        whole ? parseInto(model, prepared->text) : parseDefinitions(prepared->text, model);
    if (!parsed)
        return failure(parsed.error());
    visit(model, [&](Message& message) { restoreKind(message, prepared->kinds); });
    visit(model, [&](Message& message) { restoreNames(message, prepared->names); });
    ExternalData none({"."}, 0);
    Progress silent;
    return Reader(model, none, options, silent).read();
}

} // namespace fuselage::model_io
