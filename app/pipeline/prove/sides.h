// SPDX-License-Identifier: Apache-2.0
// What each side of a rule makes of the same inputs: in exact numbers, or by kernels.
#pragma once

#include "core/rewrite/pattern.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// What one side makes of the inputs.
struct Side {
    std::vector<Tensor> outputs;
    std::string overflow;  ///< a node whose result its type cannot hold; empty: all can
    std::string unsettled; ///< a node whose result depends on how numbers are held
    double largest = 0;    ///< of all finite numbers that it reads and makes
};

/// One operator at a time in double precision. With `roundingSeed` roundings of float32 move every
/// result (core/plan/backend.h).
Result<Side> interpreted(const Graph& graph, const std::vector<Tensor>& inputs, Progress& progress,
                         std::optional<uint64_t> roundingSeed = {});

enum class Kernels : uint8_t { AsPlanned, OnePerNode, Strict };

/// By kernels of the cpu backend on one thread, within the rule's numeric class.
Result<Side> lowered(const Rule& rule, const Graph& graph, const std::vector<Tensor>& inputs,
                     Kernels how = Kernels::AsPlanned);

/// How far roundings of float32 alone may move each element of an output, by a few tries.
std::vector<double> spreadOf(const Graph& graph, const std::vector<Tensor>& inputs,
                             const Side& exact, size_t output, Progress& progress);

} // namespace fuselage::app
