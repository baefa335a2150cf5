// SPDX-License-Identifier: Apache-2.0
// The texts of patterns/std/*.fuse and patterns/targets/*.fuse inside the binary. Only text:
// dsl/load compiles it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace fuselage {

/// The text of "std/activation"; none when there is no such file.
std::optional<std::string_view> embeddedPattern(std::string_view path);

/// "std/activation" and so on, sorted.
std::vector<std::string_view> embeddedPatternPaths();

} // namespace fuselage
