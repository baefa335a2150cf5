// SPDX-License-Identifier: Apache-2.0
// What happened to matches, as text for people: `explain`, rule tests and case files.
#pragma once

#include "core/rewrite/trace.h"

#include <string>

namespace fuselage::app {

/// Whether a rule's file and line stand beside its name.
enum class TracePlaces : uint8_t { Shown, Hidden };

/// "fused by R (r.fuse:3) into R_0: Conv_1, Relu_2" or the refusal with its reason; ends with a
/// line break, as do the others.
std::string text(const TraceEvent& event, TracePlaces places = TracePlaces::Shown);

/// "miss[M0203]: R: 2 of 3 steps, at Relu_2" and the reason.
std::string text(const NearMiss& miss);

} // namespace fuselage::app
