// SPDX-License-Identifier: Apache-2.0
// What the system says about the processor.
#pragma once

#include <string>
#include <string_view>

namespace fuselage {

/// The value of the first line "key : value" of /proc/cpuinfo; empty when there is none.
std::string cpuInfo(std::string_view key);

} // namespace fuselage
