// SPDX-License-Identifier: Apache-2.0
// Why a pair is there: which kernel reads what it stores, which kernels only convert, and which
// fusion it stands in the way of.
#pragma once

#include "app/pipeline/fuse.h"
#include "app/pipeline/model.h"
#include "app/pipeline/pair_report.h"
#include "core/plan/plan.h"

#include <optional>

namespace fuselage::app {

/// One for each DequantizeLinear of the model outside of control flow, in its order. `fused`: the
/// model after these rules, `after`: its plan. What a pair blocks is found by fusing the model
/// once more, without any. Errors: those of fusing and takePairsOut().
Result<std::vector<PairReport>> pairEffects(const LoadedModel& model, const RuleLibrary& library,
                                            const FuseOptions& options, const Graph& fused,
                                            const Plan& after, Progress& progress);

/// A node that computes with what `reader` reads, through nodes that only move elements or scale
/// them by a constant, and that no kernel of any backend here computes on stored integers.
struct FloatOnly {
    NodeId node;
    const char* what = ""; ///< "ConvTranspose", "a product of two computed values"
};

/// None where some kernel may.
std::optional<FloatOnly> floatOnlyReader(const Graph& graph, NodeId reader);

} // namespace fuselage::app
