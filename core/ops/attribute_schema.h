// SPDX-License-Identifier: Apache-2.0
// Reads the one-line attribute notation of op rows; used by the op table only.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

/// "axis:int=-1 mode:string='a b' pads:ints=[0,0] value:tensor!" sorted by name. Asserts on text
/// that is not in that notation: rows are written by us.
std::vector<AttributeSchema> parseAttributeSchemas(const char* text);

} // namespace fuselage
