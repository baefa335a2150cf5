// SPDX-License-Identifier: Apache-2.0
// What is allowed and still suspicious in loaded rules, as far as their text alone says: for
// `fuselage check --strict`. One function and one file a family. What needs graphs to be tried on
// (shadowing, overlaps, termination) is in app/pipeline/lint.
#pragma once

#include "dsl/load.h"

namespace fuselage::dsl {

/// Ways to match a rule that cannot be too many, so that W0311 tries no search.
constexpr double formsOfNoConcern = 200;

/// All families, sorted; spans point into the sources that the rules were loaded with.
Diagnostics lint(const LoadedRules& loaded);

/// The same for the rules of one file, without W0502 and W0311, which searches graphs: what an
/// editor shows while typing.
Diagnostics lintFile(const LoadedRules& loaded, const std::string& file);

/// E0220 and E0221: rules that match no graph at all. What `check` says without --strict, too.
Diagnostics lintImpossible(const LoadedRules& loaded);

/// W0502: no test in which the rule fires, or none in which it must not.
void lintTests(const LoadedRules& loaded, Diagnostics& out);

/// E0220: what the schema of an operator does not allow.
void lintSchema(const LoadedRules& loaded, Diagnostics& out);

/// E0221: demands on one value, attribute or dimension that exclude each other.
void lintContradictions(const LoadedRules& loaded, Diagnostics& out);

/// W0311: more ways to match than a search can try, as one shows that is run (lint_stress.h).
void lintBudget(const LoadedRules& loaded, Diagnostics& out);

/// W0314: operators that a loaded model hardly has, since something else stands in their place.
void lintReplaced(const LoadedRules& loaded, Diagnostics& out);
void lintReplaced(const Rule& rule, Diagnostics& out);

/// W0315: rules of a phase that no pipeline has.
void lintPhases(const LoadedRules& loaded, Diagnostics& out);

} // namespace fuselage::dsl
