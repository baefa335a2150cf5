// SPDX-License-Identifier: Apache-2.0
// Einsum: a sum of products over named indices.
#pragma once

#include "core/ops/op_table.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage {

std::span<const OpRow> einsumRows();

/// What the terms of an equation name: letters, and a number above all letters for each dimension
/// that an ellipsis stands for, counted from its right end.
struct EinsumIndices {
    std::vector<std::vector<int>> inputs;
    std::vector<int> output;
};

/// Of operands of these ranks; none where the equation is malformed or does not fit them.
std::optional<EinsumIndices> einsumIndices(const std::string& equation,
                                           const std::vector<size_t>& ranks);

} // namespace fuselage
