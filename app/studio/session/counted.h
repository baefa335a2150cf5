// SPDX-License-Identifier: Apache-2.0
// A number with its word. Nothing is translated here, so that Qt knows no plurals of its own.
#pragma once

#include <QString>

namespace fuselage::studio {

/// "1 name", "2 names"
inline QString counted(qsizetype number, const QString& one, const QString& many) {
    return QStringLiteral("%1 %2").arg(number).arg(number == 1 ? one : many);
}

} // namespace fuselage::studio
