// SPDX-License-Identifier: Apache-2.0
// Models that a viewer is handed sooner or later, one file for each: without weights, with
// mistakes, with bodies, with names as each exporter gives them, long, wide and deep ones.
#pragma once

#include <QString>

namespace fuselage::studio::testing {

/// Writes them all into the folder; `large` is the number of nodes of the largest. False where a
/// file cannot be written.
bool writeOddModels(const QString& folder, int large);

} // namespace fuselage::studio::testing
