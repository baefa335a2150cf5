// SPDX-License-Identifier: Apache-2.0
// Why rules did not fire, on one screen or as JSON (`fuselage.explain/1`, its schema is in
// resources/schemas).
#pragma once

#include "app/pipeline/explanation.h"

#include <string>

namespace fuselage::app {

/// The rules with how often they fire, then at most `limit` findings, the first ones with their
/// line of text, places, change and gain, the others in one line each.
std::string renderExplanation(const Explanation& explanation, size_t limit);

/// Everything, every place of every finding.
std::string renderExplanationJson(const Explanation& explanation);

} // namespace fuselage::app
