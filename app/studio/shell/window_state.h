// SPDX-License-Identifier: Apache-2.0
// What is open, kept in the settings and brought back at the next start: model, rules, options,
// overlay and viewport. Panels and geometry are the window's own.
#pragma once

#include "app/studio/graph_view/canvas_pair.h"

#include <QSettings>

namespace fuselage::studio {

void saveOpen(QSettings& settings, const Workbench& workbench, CanvasPair& canvases);

/// False when nothing was open, its file is gone, or opening it did not end the last time.
bool restoreOpen(QSettings& settings, Workbench& workbench, CanvasPair& canvases);

/// Around opening: a model that took the program down is not opened again by itself.
void markOpening(QSettings& settings, bool opening);

} // namespace fuselage::studio
