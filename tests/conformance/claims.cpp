// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/claims.h"

#include <fmt/format.h>

#include <fnmatch.h>
#include <fstream>
#include <sstream>

namespace fuselage::conformance {

Result<Claims> Claims::read(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        return failure("conformance.list", "the list cannot be opened", path);
    Claims out;
    std::string line;
    for (size_t number = 1; std::getline(file, line); ++number) {
        line = line.substr(0, line.find('#'));
        std::istringstream words(line);
        std::string kind;
        NotClaimed entry;
        if (!(words >> kind))
            continue;
        words >> entry.pattern >> std::ws;
        std::getline(words, entry.reason);
        if ((kind != "test" && kind != "op") || entry.reason.empty())
            return failure(
                "conformance.list",
                fmt::format("line {}: write `test GLOB reason` or `op NAME reason`", number), path);
        entry.isOp = kind == "op";
        out.m_entries.push_back(std::move(entry));
    }
    return out;
}

std::optional<std::string> Claims::reasonAgainst(const std::string& test,
                                                 const std::set<std::string>& ops) {
    for (NotClaimed& entry : m_entries) {
        const bool matches = entry.isOp ? ops.contains(entry.pattern)
                                        : fnmatch(entry.pattern.c_str(), test.c_str(), 0) == 0;
        if (!matches)
            continue;
        ++entry.uses;
        return entry.reason;
    }
    return std::nullopt;
}

} // namespace fuselage::conformance
