// SPDX-License-Identifier: Apache-2.0
// The JSON of one line of the timing cache: flat values, arrays and objects without nulls. Reads
// hostile text: depth and sizes are bounded, numbers stay text until they are asked for.
#pragma once

#include "core/support/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fuselage::gpu {

struct JsonValue;
using JsonObject = std::map<std::string, JsonValue>;
using JsonArray = std::vector<JsonValue>;

/// The digits of a number as they were written.
struct JsonNumber {
    std::string digits;
};

struct JsonValue {
    std::variant<bool, JsonNumber, std::string, JsonArray, JsonObject> value;

    /// Null when it is of another kind.
    const std::string* string() const { return std::get_if<std::string>(&value); }

    const JsonArray* array() const { return std::get_if<JsonArray>(&value); }

    const JsonObject* object() const { return std::get_if<JsonObject>(&value); }

    std::optional<bool> boolean() const;
    /// None when it is no number, not finite, or (integer) has a fraction or does not fit.
    std::optional<double> number() const;
    std::optional<int64_t> integer() const;
};

/// One value that fills the line. Error "cache.line" names the column (from 1) and what is wrong.
Result<JsonValue> parseJsonLine(std::string_view line);

/// The text in quotes; bytes that are no UTF-8 become `?`.
std::string quotedJson(std::string_view text);

} // namespace fuselage::gpu
