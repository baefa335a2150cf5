// SPDX-License-Identifier: Apache-2.0
#include "tests/support/json_schema.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace fuselage::testing_support {

namespace {

using nlohmann::json;

constexpr size_t mostErrors = 20;

class Checker {
public:
    explicit Checker(std::string folder) : m_folder(std::move(folder)) {}

    void check(const json& value, const std::string& file, const json& schema,
               const std::string& path) {
        static const std::set<std::string> known{"$schema",
                                                 "$comment",
                                                 "$defs",
                                                 "title",
                                                 "$ref",
                                                 "type",
                                                 "enum",
                                                 "const",
                                                 "minimum",
                                                 "pattern",
                                                 "items",
                                                 "title",
                                                 "minItems",
                                                 "required",
                                                 "maxItems",
                                                 "properties",
                                                 "additionalProperties"};
        for (const auto& [key, rule] : schema.items())
            if (!known.contains(key))
                wrong(path, "the schema uses `" + key + "`, which is not checked here");
        if (auto ref = schema.find("$ref"); ref != schema.end())
            follow(value, file, ref->get<std::string>(), path);
        scalars(value, schema, path);
        if (value.is_object())
            object(value, file, schema, path);
        if (value.is_array()) {
            if (auto items = schema.find("items"); items != schema.end())
                for (size_t i = 0; i < value.size(); ++i)
                    check(value[i], file, *items, path + "[" + std::to_string(i) + "]");
            if (schema.contains("minItems") && value.size() < schema["minItems"].get<size_t>())
                wrong(path, "has too few items");
            if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<size_t>())
                wrong(path, "has too many items");
        }
    }

    const json& document(const std::string& file) {
        auto [at, fresh] = m_files.try_emplace(file);
        if (fresh) {
            std::ifstream in(m_folder + "/" + file);
            at->second = json::parse(in, nullptr, false);
            if (!at->second.is_object())
                wrong(file, "is no schema");
        }
        return at->second;
    }

    std::vector<std::string> errors;

private:
    void wrong(const std::string& path, const std::string& what) {
        if (errors.size() < mostErrors)
            errors.push_back((path.empty() ? "the document" : path) + " " + what);
    }

    void follow(const json& value, const std::string& file, const std::string& reference,
                const std::string& path) {
        const size_t hash = reference.find('#');
        const std::string other = hash == 0 ? file : reference.substr(0, hash);
        const json::json_pointer pointer(reference.substr(hash + 1));
        const json& target = document(other);
        if (!target.contains(pointer))
            return wrong(path, "refers to `" + reference + "`, which is not there");
        check(value, other, target[pointer], path);
    }

    static bool isA(const json& value, const std::string& type) {
        return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
               (type == "string" && value.is_string()) ||
               (type == "integer" && value.is_number_integer()) ||
               (type == "number" && value.is_number()) ||
               (type == "boolean" && value.is_boolean()) || (type == "null" && value.is_null());
    }

    void scalars(const json& value, const json& schema, const std::string& path) {
        if (auto type = schema.find("type"); type != schema.end()) {
            bool fits = false;
            for (const json& one : type->is_array() ? *type : json::array({*type}))
                fits = fits || isA(value, one.get<std::string>());
            if (!fits)
                wrong(path, "is not of type " + type->dump());
        }
        if (auto all = schema.find("enum");
            all != schema.end() && std::find(all->begin(), all->end(), value) == all->end())
            wrong(path, "is none of " + all->dump());
        if (auto one = schema.find("const"); one != schema.end() && value != *one)
            wrong(path, "is not " + one->dump());
        if (auto least = schema.find("minimum");
            least != schema.end() && value.is_number() && value < *least)
            wrong(path, "is below " + least->dump());
        if (auto pattern = schema.find("pattern");
            pattern != schema.end() && value.is_string() &&
            !std::regex_search(value.get<std::string>(), std::regex(pattern->get<std::string>())))
            wrong(path, "does not fit " + pattern->dump());
    }

    void object(const json& value, const std::string& file, const json& schema,
                const std::string& path) {
        const json none = json::object();
        const json& properties = schema.contains("properties") ? schema["properties"] : none;
        if (auto required = schema.find("required"); required != schema.end())
            for (const json& key : *required)
                if (!value.contains(key.get<std::string>()))
                    wrong(path, "lacks `" + key.get<std::string>() + "`");
        auto rest = schema.find("additionalProperties");
        for (const auto& [key, item] : value.items())
            if (properties.contains(key))
                check(item, file, properties[key], path + "." + key);
            else if (rest != schema.end() && rest->is_object())
                check(item, file, *rest, path + "." + key);
            else if (rest != schema.end() && *rest == false)
                wrong(path, "has `" + key + "`, which is not described");
    }

    std::string m_folder;
    std::map<std::string, json> m_files;
};

} // namespace

std::vector<std::string> schemaErrors(const json& document, const std::string& folder,
                                      const std::string& schemaFile) {
    Checker checker(folder);
    const json& schema = checker.document(schemaFile);
    if (checker.errors.empty())
        checker.check(document, schemaFile, schema, "");
    return checker.errors;
}

} // namespace fuselage::testing_support
