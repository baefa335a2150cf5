// SPDX-License-Identifier: Apache-2.0
// Which tactics are fallbacks: the reference functions, plain loops, the implementations that a
// library has for checking its others. The one place that reads this from a tactic's name.
#pragma once

#include <string_view>

namespace fuselage::app {

/// "reference Library", "host", "plain loops", "onednn ref:any" ...; "" is none.
bool isFallbackTactic(std::string_view tactic);

} // namespace fuselage::app
