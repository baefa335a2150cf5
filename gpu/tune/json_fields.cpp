// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/json_fields.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fuselage::gpu {

using nlohmann::json;

Result<json> parseJsonLine(std::string_view line) {
    constexpr size_t longest = 1 << 20;
    if (line.size() > longest)
        return failure("cache.line", fmt::format("the line is longer than {} bytes", longest));
    try {
        return json::parse(line);
    } catch (const json::parse_error& error) {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: what"
        const std::string_view text = error.what();
        const size_t colon = text.find(": ");
        return failure("cache.line",
                       fmt::format("column {}: {}", error.byte,
                                   colon == text.npos ? text : text.substr(colon + 2)));
    } catch (const json::exception& error) {        // a number that no double holds
        const std::string_view text = error.what(); // "[json.exception.out_of_range.406] what"
        return failure("cache.line", std::string(text.substr(text.find(' ') + 1)));
    }
}

std::string jsonLine(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

JsonFields::JsonFields(const json& object) : m_object(object) {
    if (!object.is_object())
        m_problem = "this is no object";
}

bool JsonFields::has(const char* name) const {
    return m_object.is_object() && m_object.contains(name);
}

void JsonFields::require(const char* name) {
    if (!has(name))
        complain(name, "present");
}

void JsonFields::read(const char* name, std::string& out) {
    if (const json* value = next(name))
        value->is_string() ? void(out = value->get<std::string>()) : complain(name, "text");
}

void JsonFields::read(const char* name, bool& out) {
    if (const json* value = next(name))
        value->is_boolean() ? void(out = value->get<bool>()) : complain(name, "true or false");
}

void JsonFields::read(const char* name, double& out, double least, double most) {
    const json* value = next(name);
    if (!value)
        return;
    const double number = value->is_number() ? value->get<double>() : least - 1;
    if (number >= least && number <= most)
        out = number;
    else
        complain(name, fmt::format("a number from {} to {}", least, most));
}

void JsonFields::read(const char* name, std::vector<int64_t>& out) {
    if (const json* items = array(name))
        for (const json& item : *items)
            item.is_number_integer() ? out.push_back(item.get<int64_t>())
                                     : complain(name, "an array of integers");
}

void JsonFields::read(const char* name, std::vector<std::string>& out) {
    if (const json* items = array(name))
        for (const json& item : *items)
            item.is_string() ? out.push_back(item.get<std::string>())
                             : complain(name, "an array of texts");
}

const json* JsonFields::array(const char* name) {
    const json* value = next(name);
    if (value && value->is_array())
        return value;
    complain(name, "an array");
    return nullptr;
}

void JsonFields::complain(const std::string& name, const std::string& wanted) {
    if (m_problem.empty())
        m_problem = fmt::format("field `{}` is not {}", name, wanted);
}

const std::string& JsonFields::finish() {
    if (m_object.is_object())
        for (const auto& [name, value] : m_object.items())
            if (std::find(m_known.begin(), m_known.end(), name) == m_known.end() &&
                m_problem.empty())
                m_problem = fmt::format("field `{}` is not known", name);
    return m_problem;
}

const json* JsonFields::next(const char* name) {
    m_known.emplace_back(name);
    return has(name) ? &m_object.at(name) : nullptr;
}

std::optional<int64_t> JsonFields::integer(const char* name, int64_t least, uint64_t most) {
    const json* value = next(name);
    if (!value)
        return std::nullopt;
    most = std::min<uint64_t>(most, std::numeric_limits<int64_t>::max()); // beyond, get() wraps
    const bool fits =
        value->is_number_unsigned() ? value->get<uint64_t>() <= most : value->is_number_integer();
    if (fits && value->get<int64_t>() >= least)
        return value->get<int64_t>();
    complain(name, least < 0 ? "an integer" : "a count");
    return std::nullopt;
}

} // namespace fuselage::gpu
