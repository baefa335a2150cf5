// SPDX-License-Identifier: Apache-2.0
// The front page of a run: verdict, gates, models with links to their own pages. Needs no script
// and loads nothing.
#pragma once

#include "app/report/run_report.h"

#include <string>

namespace fuselage::app {

/// Links go to models/ID.html beside the page.
std::string renderRunHtml(const RunReport& run);

} // namespace fuselage::app
