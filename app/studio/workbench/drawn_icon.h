// SPDX-License-Identifier: Apache-2.0
// Pictures of resources/icons as icons: lines in the colour of the letters around them, so that
// they fit light and dark. Knows the little of SVG that these files use.
#pragma once

#include <QIcon>
#include <QString>

namespace fuselage::studio {

/// The icon of a command ("file.open"); null when it has none.
QIcon iconOf(const QString& command);

/// The program's own, in its colours.
QIcon programIcon();

} // namespace fuselage::studio
