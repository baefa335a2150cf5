// SPDX-License-Identifier: Apache-2.0
// What the files that prepare rules share: walking terms, and the filters, which come last.
#pragma once

#include "core/rewrite/matcher_index.h"

namespace fuselage {

// Definitions that read each other in a circle are refused by dsl; this only bounds the walk.
constexpr int maxTermDepth = 64;

/// Pipe, Optional and Repeat: a term with a source.
inline bool isStep(const Term& term) {
    return term.kind == Term::Kind::Pipe || term.kind == Term::Kind::Optional ||
           term.kind == Term::Kind::Repeat;
}

/// Calls visit(child) for the terms directly under a term.
void forChildren(const Term& term, auto visit) {
    for (const Argument& argument : term.arguments)
        visit(argument.term);
    for (const Term::Alternative& alternative : term.alternatives)
        visit(alternative.term);
    if (term.step.valid())
        visit(term.step);
    if (term.source.valid())
        visit(term.source);
}

/// Fills in PreparedRule::made.
void fillMade(PreparedRule& rule);

/// What the Hole of a step can be, from what the Hole around it can be.
RootSet holeOf(const PreparedRule& rule, const Term& step, const RootSet* around);

/// Fills in PreparedRule::filters.
void fillFilters(PreparedRule& rule);

/// How many nodes must read the value that a rule's search starts at, so that its `many` can find
/// enough instances.
uint32_t leastReadersOf(const PreparedRule& rule);

} // namespace fuselage
