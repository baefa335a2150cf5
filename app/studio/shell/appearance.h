// SPDX-License-Identifier: Apache-2.0
// Light or dark: the application's palette, made of the theme's tokens; what was chosen is kept.
#pragma once

#include <QSettings>

namespace fuselage::studio {

struct Appearance {
    const char* id;
    const char* title;
};

/// As the system says, light, dark: one row each.
const QList<Appearance>& appearances();

/// Of the whole application, at once; unknown ids count as the first row.
void applyAppearance(const QString& id);

/// The id that was chosen last.
QString chosenAppearance(const QSettings& settings);
void chooseAppearance(QSettings& settings, const QString& id);

} // namespace fuselage::studio
