// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/provenance_internal.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace fuselage::model_io {

namespace {

using nlohmann::json;

constexpr std::string_view mark = "fuselage:";

json parse(const std::string& documentation) {
    if (!documentation.starts_with(mark))
        return json::object();
    json parsed = json::parse(documentation.substr(mark.size()), nullptr, false);
    return parsed.is_object() ? parsed : json::object();
}

std::string textAt(const json& object, const char* key) {
    auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> textsAt(const json& object, const char* key) {
    std::vector<std::string> out;
    auto found = object.find(key);
    if (found == object.end() || !found->is_array())
        return out;
    for (const json& entry : *found)
        if (entry.is_string())
            out.push_back(entry.get<std::string>());
    return out;
}

std::vector<Metadata> metadataAt(const json& object, const char* key) {
    std::vector<Metadata> out;
    auto found = object.find(key);
    if (found == object.end() || !found->is_array())
        return out;
    for (const json& entry : *found) {
        Metadata& metadata = out.emplace_back();
        if (entry.is_object())
            for (const auto& [name, value] : entry.items())
                if (value.is_string())
                    metadata[name] = value.get<std::string>();
    }
    return out;
}

/// Nothing where no entry says something.
void putMetadata(json& object, const char* key, const std::vector<Metadata>& all) {
    json list = json::array();
    bool any = false;
    for (const Metadata& metadata : all) {
        any = any || !metadata.empty();
        list.push_back(metadata.empty() ? json() : json(metadata));
    }
    if (any)
        object[key] = std::move(list);
}

} // namespace

bool isDocumented(const std::string& documentation) {
    return documentation.starts_with(mark);
}

Provenance provenanceFrom(const std::string& documentation) {
    json object = parse(documentation);
    Provenance out;
    out.rule = textAt(object, "rule");
    out.file = textAt(object, "file");
    if (auto line = object.find("line"); line != object.end() && line->is_number_unsigned())
        out.line = line->get<uint32_t>();
    out.sources = textsAt(object, "sources");
    return out;
}

BodyNames bodyNamesFrom(const std::string& documentation) {
    json object = parse(documentation);
    return {textsAt(object, "nodes"), textsAt(object, "values"),
            metadataAt(object, "node_metadata"), metadataAt(object, "value_metadata")};
}

std::string documentationFor(const Provenance& provenance, const BodyNames& names) {
    json object = json::object();
    if (!provenance.rule.empty())
        object["rule"] = provenance.rule;
    if (!provenance.file.empty())
        object["file"] = provenance.file;
    if (provenance.line != 0)
        object["line"] = provenance.line;
    if (!provenance.sources.empty())
        object["sources"] = provenance.sources;
    if (!names.nodes.empty())
        object["nodes"] = names.nodes;
    if (!names.values.empty())
        object["values"] = names.values;
    putMetadata(object, "node_metadata", names.nodeMetadata);
    putMetadata(object, "value_metadata", names.valueMetadata);
    if (object.empty())
        return {};
    // Names may hold bytes that are no UTF-8: they are replaced, never a reason to fail.
    return std::string(mark) + object.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace fuselage::model_io
