// SPDX-License-Identifier: Apache-2.0
#include "app/cli/wait_policy.h"

#include <cstdlib>
#include <unistd.h>

namespace fuselage::cli {

namespace {

constexpr const char* spinCount = "GOMP_SPINCOUNT";
// Longer than the way from one kernel to the next, shorter than what a sleep and a wake cost.
constexpr const char* spins = "2000";

} // namespace

void shortenSpins(char** argv) {
    if (std::getenv(spinCount) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr)
        return;
    if (setenv(spinCount, spins, 0) != 0)
        return;
    execv("/proc/self/exe", argv);
    unsetenv(spinCount); // no new start here: go on with long spins
}

} // namespace fuselage::cli
