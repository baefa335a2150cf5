// SPDX-License-Identifier: Apache-2.0
// A Report that may be shown to others: names of a model's nodes and values become hashes, equal in
// every run, and what was in its weights is left out. Rules, operators, shapes and figures stay.
#pragma once

#include "app/pipeline/report.h"
#include "core/support/result.h"

namespace fuselage::app {

/// Parts of a name between slashes are hashed one by one, so that the hierarchy is kept. Attributes
/// keep whole numbers only, reasons no number. The file's name, without its folders, and names of
/// symbolic dimensions stay, but for those that are made of a value's name.
Result<Report> redacted(const Report& report);

} // namespace fuselage::app
