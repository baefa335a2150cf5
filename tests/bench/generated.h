// SPDX-License-Identifier: Apache-2.0
// Generated models for predictions: one kind of kernel again and again, with more or less between
// that pushes what it reads and writes out of a core's cache.
#pragma once

#include "core/graph/graph.h"

#include <optional>
#include <string>

namespace fuselage::bench {

/// "rows:0" is normalised rows (128 of 768) behind each other, "rows:3072" has two products of
/// 768 x 3072 between them; "attention:12x224x16" has 12 heads of 224 rows and 16 columns. None: no
/// name of this kind.
std::optional<Graph> generatedModel(const std::string& name);

} // namespace fuselage::bench
