// SPDX-License-Identifier: Apache-2.0
// What a tactic makes of a device's peaks when nothing was measured: shares per kind of tactic,
// data in resources/tactics. Only good for an order among candidates; every answer built on it is
// called predicted.
#pragma once

#include "core/cost/cost.h"

#include <string>
#include <string_view>
#include <vector>

namespace fuselage {

/// A row of the table: all tactics whose name begins with `prefix`.
struct TacticEfficiency {
    std::string prefix;  ///< "row_warp"; empty: any tactic
    double memory = 0.5; ///< share of DRAM and L2 bandwidth
    double issue = 0.5;  ///< share of the lanes' instruction rate
    double matrix = 0.5; ///< share of the matrix peak after tiles and waves
    std::string source;  ///< "not measured: ..."
};

/// The built-in table.
const std::vector<TacticEfficiency>& tacticEfficiencies();

/// The row with the longest prefix of the name.
const TacticEfficiency& tacticEfficiency(std::string_view tactic);

/// Errors "profile.syntax" and "profile.field" name the row.
Result<std::vector<TacticEfficiency>> parseTacticEfficiencies(std::string_view text,
                                                              const std::string& where);

/// Seconds of a program by a tactic that needs this many launches: the terms of the estimate, each
/// divided by its share, combined by the norm of the device.
double predictSeconds(const TimeEstimate& program, const TacticEfficiency& tactic,
                      uint32_t launches, double overlap);

} // namespace fuselage
