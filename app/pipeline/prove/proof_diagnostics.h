// SPDX-License-Identifier: Apache-2.0
// What the proof found, as diagnostics at the names of the rules: for `check --strict` and for
// editors, which say the same of the same file.
#pragma once

#include "app/pipeline/prove/proof.h"
#include "core/support/diagnostic.h"

namespace fuselage::app {

/// E0501 or W0503; nothing where the proof passed.
void addProof(const RuleProof& proof, Diagnostics& out);

} // namespace fuselage::app
