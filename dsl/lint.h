// SPDX-License-Identifier: Apache-2.0
// What is allowed and still suspicious in loaded rules, as far as their text alone says: for
// `fuselage check --strict`. One function and one file a family. What needs graphs to be tried on
// (shadowing, overlaps, termination) is in app/pipeline/lint.
#pragma once

#include "dsl/load.h"

namespace fuselage::dsl {

/// Ways to match a rule that W0311 lets pass. The search from one node is cut off after 20,000
/// steps, but leaves most ways at their first node.
constexpr double mostForms = 1e6;

/// All families, sorted; spans point into the sources that the rules were loaded with.
Diagnostics lint(const LoadedRules& loaded);

/// The same for the rules of one file, without W0502: what an editor shows while typing.
Diagnostics lintFile(const LoadedRules& loaded, const std::string& file);

/// W0502: no test in which the rule fires, or none in which it must not.
void lintTests(const LoadedRules& loaded, Diagnostics& out);

/// E0220: what the schema of an operator does not allow.
void lintSchema(const LoadedRules& loaded, Diagnostics& out);

/// E0221: demands on one value, attribute or dimension that exclude each other.
void lintContradictions(const LoadedRules& loaded, Diagnostics& out);

/// W0311: more ways to match than a search can try.
void lintBudget(const LoadedRules& loaded, Diagnostics& out);

} // namespace fuselage::dsl
