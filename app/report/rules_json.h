// SPDX-License-Identifier: Apache-2.0
// Verdicts and tests of rules as JSON: resources/schemas/rules.schema.json.
#pragma once

#include "app/pipeline/rule_report.h"

namespace fuselage::app {

std::string renderRulesJson(const RulesReport& report);

} // namespace fuselage::app
