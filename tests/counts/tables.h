// SPDX-License-Identifier: Apache-2.0
// Tables of counts as TOML files, and the comparison that prints what differs.
#pragma once

#include "tests/counts/checks.h"

#include <toml++/toml.h>

namespace fuselage::counts {

/// The numbers of a table, over those of `base`; 0 takes a row away.
CountTable tableOf(const toml::table& from, CountTable base = {});

/// Empty, with a printed error, when the file is none.
toml::table parsed(const std::string& path);

/// Prints what differs and returns whether anything does.
bool differs(const std::string& name, const CountTable& expected, const CountTable& found);

} // namespace fuselage::counts
