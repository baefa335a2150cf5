// SPDX-License-Identifier: Apache-2.0
// Reading what the caches of a device keep as JSON. Files may be of another version, half written
// or hostile: every field is asked for by name and kind, and the first that is wrong is named.
#pragma once

#include "core/support/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::gpu {

/// One JSON text. Error "cache.line" names the column (from 1) and what is wrong there.
Result<nlohmann::json> parseJsonLine(std::string_view line);

/// On one line; bytes that are no UTF-8 become U+FFFD.
std::string jsonLine(const nlohmann::ordered_json& json);

/// The fields of one object. A field that is absent leaves `out` as it was.
class JsonFields {
public:
    explicit JsonFields(const nlohmann::json& object);

    bool has(const char* name) const;
    void require(const char* name);
    void read(const char* name, std::string& out);
    void read(const char* name, bool& out);
    void read(const char* name, double& out, double least, double most);

    template <typename Integer> void readCount(const char* name, Integer& out, int64_t least = 0) {
        constexpr auto most = static_cast<uint64_t>(std::numeric_limits<Integer>::max());
        if (auto value = integer(name, least, most))
            out = static_cast<Integer>(*value);
    }

    void read(const char* name, std::vector<int64_t>& out);
    void read(const char* name, std::vector<std::string>& out);
    /// The items of an array; null, and a problem, when it is none.
    const nlohmann::json* array(const char* name);

    /// Remembers "field `name` is not `wanted`", unless something was wrong before.
    void complain(const std::string& name, const std::string& wanted);
    const std::string& problem() const { return m_problem; } ///< empty: none so far
    /// The same; a field that nothing asked for is a problem too: the next writer would lose it.
    const std::string& finish();

private:
    const nlohmann::json* next(const char* name);
    std::optional<int64_t> integer(const char* name, int64_t least, uint64_t most);

    const nlohmann::json& m_object;
    std::vector<std::string> m_known;
    std::string m_problem;
};

} // namespace fuselage::gpu
