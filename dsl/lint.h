// SPDX-License-Identifier: Apache-2.0
// What is allowed and still suspicious in loaded rules: warnings for `fuselage check --strict`. One
// function and one file a family.
#pragma once

#include "dsl/load.h"

namespace fuselage::dsl {

/// All families, sorted; spans point into the sources that the rules were loaded with.
Diagnostics lint(const LoadedRules& loaded);

/// W0502: no test in which the rule fires, or none in which it must not.
void lintTests(const LoadedRules& loaded, Diagnostics& out);

} // namespace fuselage::dsl
