// SPDX-License-Identifier: Apache-2.0
// What kind of work an operator does, by its name: for colours of the drawing. Knows no engine, so
// that operators nobody can run have a kind, too.
#pragma once

#include <QString>
#include <string>

namespace fuselage::studio {

struct OpFamily {
    const char* title; ///< "products"
    const char* token; ///< of the theme
};

/// Null for operators that are of none, like somebody's own.
const OpFamily* familyOf(const std::string& op);

} // namespace fuselage::studio
