// SPDX-License-Identifier: Apache-2.0
// Exit codes of `fuselage`: stable, documented in README.md, tested.
#pragma once

namespace fuselage::cli {

enum ExitCode : int {
    ExitOk = 0,
    ExitGate = 1,          ///< a gate, expectation or rule test failed
    ExitUsage = 2,         ///< the command line is wrong
    ExitInput = 3,         ///< a model or .fuse file is invalid or cannot be read
    ExitVerification = 4,  ///< numeric verification failed
    ExitDevice = 5,        ///< a required device is absent or unusable
    ExitResource = 6,      ///< a limit of time, memory or disk
    ExitPartial = 7,       ///< some models were not run, and nothing worse
    ExitInternal = 10,     ///< a mistake in Fuselage itself
    ExitInterrupted = 130, ///< Ctrl-C
    ExitTerminated = 143,  ///< SIGTERM, or SIGHUP
};

/// A line of the help and of the manual page.
struct ExitMeaning {
    ExitCode code;
    const char* meaning;
};

inline constexpr ExitMeaning exitMeanings[] = {
    {ExitOk, "fine"},
    {ExitGate, "gate or rule test failed"},
    {ExitUsage, "usage"},
    {ExitInput, "model or .fuse file invalid"},
    {ExitVerification, "verification failed"},
    {ExitDevice, "device missing"},
    {ExitResource, "resources"},
    {ExitPartial, "some models did not run"},
    {ExitInternal, "internal error"},
    {ExitInterrupted, "interrupted"},
    {ExitTerminated, "terminated"},
};

} // namespace fuselage::cli
