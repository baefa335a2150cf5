// SPDX-License-Identifier: Apache-2.0
// A guard that parts the samples at hand may do so by accident. It is compiled into the rule and
// offered when that rule is proved, or holds on samples that were drawn after the guard was found
// and on those at hand that were changed a little; one that fails there is looked for again with
// them.
#pragma once

#include "app/pipeline/prove/guard.h"

#include <cstdint>

namespace fuselage::app {

/// The samples that a proof has judged.
struct Judged {
    std::vector<Facts> passing, failing;
    std::vector<std::vector<uint32_t>> agreed, differed; ///< choices behind samples of each
};

/// None where nothing parts the samples, drawn and changed ones among them. `seed`: other than that
/// of the samples at hand. `agreeing` counts the samples that were drawn too.
Guard confirmedGuard(const PreparedRule& rule, Judged judged, uint64_t seed, Progress& progress);

} // namespace fuselage::app
