// SPDX-License-Identifier: Apache-2.0
// Starts the program again in its own process: after a kernel took the device along nothing else
// runs on it here, but a fresh start does, and knows which kernel that was.
#pragma once

#include <string>

namespace fuselage::cli {

/// How often this process has started itself again.
int restartsSoFar();

/// The same program with the same arguments, after saying why on standard error. Returns when that
/// is impossible, or happened too often in a row without progress.
void startAgain(const std::string& why, bool progressed);

} // namespace fuselage::cli
