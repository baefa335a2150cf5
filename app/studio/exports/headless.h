// SPDX-License-Identifier: Apache-2.0
// `fuselage-studio --export FILE MODEL RULES ...`: the same files as the window writes, without
// one.
#pragma once

#include "core/passes/dimensions.h"

#include <QStringList>

namespace fuselage::studio {

/// Exit codes of `fuselage`: 0, 2 (no such format), 3 (model or rules), 6 (cannot be written).
/// `dims`: sizes of open dimensions. Needs a QGuiApplication.
int exportHeadless(const QString& file, const QStringList& inputs, const DimensionValues& dims);

} // namespace fuselage::studio
