// SPDX-License-Identifier: Apache-2.0
// For widgets whose texts have colours of the theme in them: told when it changes.
#pragma once

#include <QWidget>
#include <functional>

namespace fuselage::studio {

/// Runs it whenever the widget's palette turns from light to dark or back; ends with the widget.
void whenThemeChanges(QWidget& widget, std::function<void()> run);

} // namespace fuselage::studio
