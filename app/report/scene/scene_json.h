// SPDX-License-Identifier: Apache-2.0
// A scene as JSON: the description that goldens compare, strictly.
#pragma once

#include "app/report/scene/scene.h"

#include <string>

namespace fuselage::scene {

/// One thing a line, places rounded to tenths; equal scenes give equal texts.
std::string toJson(const Scene& scene);

} // namespace fuselage::scene
