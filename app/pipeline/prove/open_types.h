// SPDX-License-Identifier: Apache-2.0
// Which element types a rule may meet where it asks for none.
#pragma once

#include "core/rewrite/pattern.h"

#include <vector>

namespace fuselage::app {

/// Those that every operator of the pattern allows, float first; empty: the rule names all types.
std::vector<DType> openTypes(const Rule& rule);

} // namespace fuselage::app
