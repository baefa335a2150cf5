// SPDX-License-Identifier: Apache-2.0
// How long threads of the OpenMP runtime spin before they sleep. First thing in main(); does not
// touch the number of threads.
#pragma once

namespace fuselage::cli {

/// Starts the program anew with short spins, unless the environment says how long they are. GNU's
/// runtime spins for milliseconds, which on a busy machine are taken from the thread that is waited
/// for; it reads its settings while it is loaded, so setting them here would be too late.
void shortenSpins(char** argv);

} // namespace fuselage::cli
