// SPDX-License-Identifier: Apache-2.0
// Reports back from their JSON, so that they can be compared and drawn without the model.
#pragma once

#include "app/pipeline/report.h"
#include "core/support/result.h"

#include <string_view>

namespace fuselage::app {

/// Reads what renderJson wrote; fields that a newer version added are passed over, fields that an
/// older one lacks keep their defaults. Errors: "report.syntax", "report.schema", "report.field".
Result<Report> readJson(std::string_view text);

} // namespace fuselage::app
