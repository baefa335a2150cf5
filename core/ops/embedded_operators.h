// SPDX-License-Identifier: Apache-2.0
// The texts of resources/operators inside the library; op_schema.cpp and core/onnx read them.
#pragma once

#include <string_view>
#include <vector>

namespace fuselage {

/// resources/operators/operators*.txt
std::vector<std::string_view> embeddedOperators();

/// resources/operators/bodies*.txt
std::vector<std::string_view> embeddedBodies();

} // namespace fuselage
