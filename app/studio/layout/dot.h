// SPDX-License-Identifier: Apache-2.0
// The layout of one container by Graphviz's dot. The only unit that touches Graphviz; linked into
// the worker alone, since libgvc serves one thread and cannot be cancelled.
#pragma once

#include "app/studio/layout/frames.h"

namespace fuselage::studio {

/// Places and bends, or nothing when dot refused. May take for ever: the caller is a process that
/// can be ended.
std::optional<scene::LayoutResult> dotLayout(const LayoutJob& job);

} // namespace fuselage::studio
