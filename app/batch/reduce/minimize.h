// SPDX-License-Identifier: Apache-2.0
// Delta debugging over a set: the smallest part of it, found by leaving out ever smaller pieces,
// that still has a property. Knows nothing of models.
#pragma once

#include "core/support/function_ref.h"

#include <cstddef>
#include <vector>

namespace fuselage::batch {

using Kept = std::vector<size_t>; ///< indices that stay, ascending

/// Of 0..count-1 a part from which no single index can go. `holds` is asked of smaller parts only,
/// never of the whole; it may be expensive, and when it begins to say no to everything (because the
/// work was cancelled) the best part so far comes back soon.
Kept minimize(size_t count, FunctionRef<bool(const Kept&)> holds);

} // namespace fuselage::batch
