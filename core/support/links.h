// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fuselage {

/// What a symbolic link stands for, also where nothing is there yet; else the path itself. Files
/// are written behind links, so that these stay.
std::string behindLinks(const std::string& path);

} // namespace fuselage
