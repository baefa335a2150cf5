// SPDX-License-Identifier: Apache-2.0
// What is open, kept in the settings and brought back at the next start: model, rules, options,
// switched-off matches, tabs of rules, overlay and viewport. Panels and geometry are the window's
// own.
#pragma once

#include "app/studio/graph_view/canvas_pair.h"
#include "app/studio/panels/editor/editor_panel.h"

#include <QSettings>

namespace fuselage::studio {

void saveOpen(QSettings& settings, const Workbench& workbench, CanvasPair& canvases);

/// False when nothing was open, its file is gone, or opening it did not end the last time.
bool restoreOpen(QSettings& settings, Workbench& workbench, CanvasPair& canvases);

/// Sizes that were given to models, of any start before.
void restoreDimensions(const QSettings& settings, Session& session);

/// Columns of tables that were put away.
void saveColumns(QSettings& settings, const QWidget& window);
void restoreColumns(const QSettings& settings, const QWidget& window);

/// True when the program ended while it opened a model.
bool endedWhileOpening(const QSettings& settings);

/// The tabs of the Rules panel; texts that were not saved are kept by RuleTexts.
void saveTabs(QSettings& settings, const EditorPanel& editor);

/// Files that are gone are left out; unsaved texts come back as they were typed.
void restoreTabs(QSettings& settings, EditorPanel& editor);

/// Around opening: a model that took the program down is not opened again by itself.
void markOpening(QSettings& settings, bool opening);

} // namespace fuselage::studio
