// SPDX-License-Identifier: Apache-2.0
// The boxes of a canvas for screen readers: painted things as virtual children with name, place and
// state.
#pragma once

namespace fuselage::studio {

/// Once, before the first canvas is asked for its children.
void installCanvasAccess();

} // namespace fuselage::studio
