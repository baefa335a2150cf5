// SPDX-License-Identifier: Apache-2.0
// An executable that is prepared by whoever asks it first.
#pragma once

#include "core/plan/backend.h"

#include <functional>
#include <memory>

namespace fuselage {

/// run() and what runs steps give the error of a preparation that failed; of its steps there is
/// then nothing to say.
std::unique_ptr<Executable>
makeLazy(std::function<Result<std::unique_ptr<Executable>>(Progress&)> prepare);

} // namespace fuselage
