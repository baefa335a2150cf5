// SPDX-License-Identifier: Apache-2.0
// A layout that is much deeper than wide as columns beside each other, read like those of a
// newspaper: after the outermost layout, whatever engine made it. Moves things; orders nothing.
#pragma once

#include "app/report/scene/layout.h"

namespace fuselage::scene {

/// Cuts where nothing stands and few edges cross; those that do are led from the foot of one column
/// to the head of the next. Nothing happens to a layout that has a fair shape as it is.
void foldIntoColumns(const LayoutRequest& request, LayoutResult& layout);

} // namespace fuselage::scene
