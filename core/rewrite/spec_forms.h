// SPDX-License-Identifier: Apache-2.0
// `spec Op` written out: the terms of the operator's function body in every form that exporters
// write. One table; nothing else knows these forms.
#pragma once

#include "core/rewrite/pattern.h"

namespace fuselage {

/// Replaces every `spec Op` term by a choice of the operator itself and its written-out forms.
/// Operators without an entry keep only themselves.
void writeOutSpecs(Rule& rule);

/// True when the table has a form of that operator besides itself.
bool hasSpecForm(Op op);

} // namespace fuselage
