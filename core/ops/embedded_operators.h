// SPDX-License-Identifier: Apache-2.0
// The text of resources/operators inside the library; op_schema.cpp reads it.
#pragma once

#include <string_view>

namespace fuselage {

/// resources/operators/operators.txt
std::string_view embeddedOperators();

} // namespace fuselage
