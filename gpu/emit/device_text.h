// SPDX-License-Identifier: Apache-2.0
// The device helpers of gpu/device/*.cuh, embedded: every emitted text begins with those it uses.
#pragma once

#include <string_view>

namespace fuselage::gpu {

/// Text of gpu/device/NAME.cuh; empty when there is none.
std::string_view deviceText(std::string_view name);

} // namespace fuselage::gpu
