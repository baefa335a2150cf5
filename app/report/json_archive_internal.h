// SPDX-License-Identifier: Apache-2.0
// One list of fields a struct, used in both directions: `fields(archive, value)` names what
// is in JSON; JsonWriter makes an object of it and JsonReader fills the struct from one. Stays in
// this room.
#pragma once

#include "core/support/number_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fuselage::app {

using nlohmann::json;

/// Nine digits: what is written, read and written again is the same text.
inline double rounded(double value) {
    return numberIn(fmt::format("{:.9g}", value));
}

template <typename T> struct IsVector : std::false_type {};

template <typename T> struct IsVector<std::vector<T>> : std::true_type {};

template <typename T> struct IsOptional : std::false_type {};

template <typename T> struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T> struct IsMap : std::false_type {};

template <typename V> struct IsMap<std::map<std::string, V>> : std::true_type {};

/// Makes an object of the fields that it is called with.
class JsonWriter {
public:
    static constexpr bool writes = true;

    explicit JsonWriter(json& object) : m_object(object) {}

    /// An empty optional is left out.
    template <typename T> void operator()(const char* key, const T& value) {
        if constexpr (IsOptional<T>::value) {
            if (value)
                m_object[key] = made(*value);
        } else {
            m_object[key] = made(value);
        }
    }

    /// Seconds of the struct, microseconds of the file.
    void micros(const char* key, double seconds) { m_object[key] = rounded(seconds * 1e6); }

    void micros(const char* key, const std::optional<double>& seconds) {
        if (seconds)
            micros(key, *seconds);
    }

    void micros(const char* key, const std::vector<double>& seconds) {
        json rows = json::array();
        for (double value : seconds)
            rows.push_back(rounded(value * 1e6));
        m_object[key] = std::move(rows);
    }

    /// For readers of the file only; follows from other fields.
    template <typename T> void derived(const char* key, const T& value) {
        m_object[key] = made(value);
    }

    /// An object inside of this one.
    template <typename Body> void group(const char* key, Body body) {
        json inner = json::object();
        JsonWriter writer(inner);
        body(writer);
        m_object[key] = std::move(inner);
    }

    /// The member's `fields` variant `body(archive, item)` for each item of a list.
    template <typename T, typename Body>
    void list(const char* key, std::vector<T>& items, Body body) {
        json rows = json::array();
        for (T& item : items) {
            json row = json::object();
            JsonWriter writer(row);
            body(writer, item);
            rows.push_back(std::move(row));
        }
        m_object[key] = std::move(rows);
    }

private:
    template <typename T> static json made(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            return nameOf(value);
        } else if constexpr (std::is_floating_point_v<T>) {
            return rounded(value);
        } else if constexpr (IsVector<T>::value) {
            json rows = json::array();
            for (const auto& item : value)
                rows.push_back(made(item));
            return rows;
        } else if constexpr (IsMap<T>::value) {
            json object = json::object();
            for (const auto& [key, item] : value)
                object[key] = made(item);
            return object;
        } else if constexpr (std::is_constructible_v<json, const T&>) {
            return json(value);
        } else {
            json object = json::object();
            JsonWriter writer(object);
            fields(writer, const_cast<T&>(value)); // writers only read
            return object;
        }
    }

    json& m_object;
};

/// Fills fields from an object; what is missing keeps its default, what has another type is an
/// error with its path.
class JsonReader {
public:
    static constexpr bool writes = false;

    JsonReader(const json& object, std::string path, std::string& error)
        : m_object(object), m_path(std::move(path)), m_error(error) {
        if (!object.is_object())
            fail(m_path, "an object");
    }

    template <typename T> void operator()(const char* key, T& value) {
        if (const json* found = find(key))
            take(*found, m_path + "." + key, value);
    }

    void micros(const char* key, double& seconds) {
        (*this)(key, seconds);
        seconds /= find(key) != nullptr ? 1e6 : 1;
    }

    void micros(const char* key, std::optional<double>& seconds) {
        (*this)(key, seconds);
        if (seconds && find(key) != nullptr)
            *seconds /= 1e6;
    }

    void micros(const char* key, std::vector<double>& seconds) {
        (*this)(key, seconds);
        for (double& value : seconds)
            value /= 1e6;
    }

    template <typename T> void derived(const char*, const T&) {}

    template <typename Body> void group(const char* key, Body body) {
        if (const json* found = find(key)) {
            JsonReader reader(*found, m_path + "." + key, m_error);
            body(reader);
        }
    }

    /// Items that are there already are completed, by position.
    template <typename T, typename Body>
    void list(const char* key, std::vector<T>& items, Body body) {
        const json* found = find(key);
        if (found == nullptr)
            return;
        if (!found->is_array())
            return fail(m_path + "." + key, "a list");
        if (items.size() < found->size())
            items.resize(found->size());
        for (size_t i = 0; i < found->size() && m_error.empty(); ++i) {
            JsonReader reader((*found)[i], m_path + "." + key + "[" + std::to_string(i) + "]",
                              m_error);
            body(reader, items[i]);
        }
    }

private:
    void fail(const std::string& path, const char* expected) {
        if (m_error.empty())
            m_error = "`" + path + "` is not " + expected;
    }

    const json* find(const char* key) const {
        if (!m_object.is_object() || !m_error.empty())
            return nullptr;
        auto at = m_object.find(key);
        return at == m_object.end() ? nullptr : &*at;
    }

    template <typename T> void take(const json& from, const std::string& path, T& value) {
        if (!m_error.empty())
            return;
        if constexpr (IsOptional<T>::value) {
            take(from, path, value.emplace());
        } else if constexpr (std::is_same_v<T, bool>) {
            from.is_boolean() ? void(value = from.get<bool>()) : fail(path, "true or false");
        } else if constexpr (std::is_same_v<T, std::string>) {
            from.is_string() ? void(value = from.get<std::string>()) : fail(path, "a text");
        } else if constexpr (std::is_enum_v<T>) {
            takeEnum(from, path, value);
        } else if constexpr (std::is_floating_point_v<T>) {
            // Not-a-number is written as null.
            if (from.is_null())
                value = std::numeric_limits<T>::quiet_NaN();
            else
                from.is_number() ? void(value = from.get<T>()) : fail(path, "a number");
        } else if constexpr (std::is_integral_v<T>) {
            takeInteger(from, path, value);
        } else if constexpr (IsVector<T>::value) {
            takeList(from, path, value);
        } else if constexpr (IsMap<T>::value) {
            if (!from.is_object())
                return fail(path, "an object");
            for (const auto& [key, item] : from.items())
                take(item, path + "." + key, value[key]);
        } else {
            JsonReader reader(from, path, m_error);
            fields(reader, value);
        }
    }

    template <typename T> void takeInteger(const json& from, const std::string& path, T& value) {
        const bool fits =
            from.is_number_unsigned()
                ? from.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())
                : from.is_number_integer() && std::is_signed_v<T> &&
                      from.get<int64_t>() >= static_cast<int64_t>(std::numeric_limits<T>::min());
        fits ? void(value = from.get<T>()) : fail(path, "a whole number that fits");
    }

    template <typename T> void takeList(const json& from, const std::string& path, T& value) {
        if (!from.is_array())
            return fail(path, "a list");
        value.clear();
        for (size_t i = 0; i < from.size(); ++i)
            take(from[i], path + "[" + std::to_string(i) + "]", value.emplace_back());
    }

    template <typename T> void takeEnum(const json& from, const std::string& path, T& value) {
        std::string name;
        take(from, path, name);
        if (m_error.empty() && !fromName(name, value))
            fail(path, "one of the names known here");
    }

    const json& m_object;
    std::string m_path;
    std::string& m_error;
};

} // namespace fuselage::app
