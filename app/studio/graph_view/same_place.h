// SPDX-License-Identifier: Apache-2.0
// Where to look in a new drawing of the model that somebody was looking at.
#pragma once

#include "app/studio/graph_view/canvas.h"

namespace fuselage::studio {

/// The view moved with the box that was next to its middle; as it is where that box is gone.
Viewport samePlace(const Drawing& earlier, const Drawing& now, const Viewport& view);

/// The box that stands on the side for what that one stood for, which may have been opened or shut;
/// `scene::none` where nothing does.
uint32_t sameBox(const Drawing& earlier, const Drawing& now, scene::Side side, uint32_t box);

} // namespace fuselage::studio
