// SPDX-License-Identifier: Apache-2.0
// Comparing computed with stored values, and inferred with real types.
#pragma once

#include "core/graph/type.h"
#include "core/ops/reference_value.h"

#include <optional>
#include <string>

namespace fuselage::conformance {

struct Tolerance {
    double relative = 1e-3;
    double absolute = 1e-5;
};

/// What differs, with the first element that does; none when the values agree. Integers, bools and
/// strings must be equal; 16-bit floats get looser limits.
std::optional<std::string> difference(const ReferenceValue& actual, const ReferenceValue& expected,
                                      const Tolerance& tolerance = {});

/// What differs between element type, kind or extents; values are not looked at.
std::optional<std::string> typeDifference(const ReferenceValue& actual,
                                          const ReferenceValue& expected);

/// What an inferred type says that the value contradicts; none when it agrees or says nothing.
std::optional<std::string> contradiction(const Type& inferred, const ReferenceValue& value);

} // namespace fuselage::conformance
