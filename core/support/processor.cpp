// SPDX-License-Identifier: Apache-2.0
#include "core/support/processor.h"

#include <algorithm>
#include <fstream>

namespace fuselage {

std::string cpuInfo(std::string_view key) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(':');
        if (line.starts_with(key) && colon != std::string::npos)
            return line.substr(std::min(colon + 2, line.size()));
    }
    return {};
}

} // namespace fuselage
