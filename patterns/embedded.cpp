// SPDX-License-Identifier: Apache-2.0
#include "patterns/embedded.h"

namespace fuselage {

namespace {

struct Row {
    std::string_view path;
    std::string_view text;
};

constexpr Row rows[] = {
#include "embedded.inc"
};

} // namespace

std::optional<std::string_view> embeddedPattern(std::string_view path) {
    for (const Row& row : rows)
        if (row.path == path)
            return row.text;
    return std::nullopt;
}

std::vector<std::string_view> embeddedPatternPaths() {
    std::vector<std::string_view> paths;
    for (const Row& row : rows)
        paths.push_back(row.path);
    return paths;
}

} // namespace fuselage
