// SPDX-License-Identifier: Apache-2.0
// The report as one page: no network, no weights. Tables and static pictures read without scripts;
// the script adds the drawing that moves, search, steps and an inspector.
#pragma once

#include "app/pipeline/report.h"

#include <string>

namespace fuselage::app {

std::string renderHtml(const Report& report);

} // namespace fuselage::app
