// SPDX-License-Identifier: Apache-2.0
// Programs as children: started with an argument vector (never a shell), each a process group of
// its own, with limits on time and memory, killed as a group. Knows nothing of models.
#pragma once

#include "core/support/function_ref.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fuselage::batch {

struct ChildTask {
    std::vector<std::string> arguments; ///< the first is the program; PATH is searched for a name
    double seconds = 0;                 ///< of wall-clock time; 0: no limit
    int64_t memoryBytes = 0;            ///< of address space; 0: no limit
    bool keepOutput = false;            ///< standard output goes where standard error goes
};

struct ChildResult {
    enum class End : uint8_t { Exited, Signalled, Timeout, NotStarted, Cancelled };

    End end = End::NotStarted;
    int code = 0;       ///< exit code or signal
    std::string errors; ///< the last of standard error (and output, when it was asked for)
    double seconds = 0;
};

/// Called in the thread that runs: before a child starts, and when it ended.
struct ChildEvents {
    FunctionRef<bool(size_t task)> starting; ///< false: leave this one out
    FunctionRef<void(size_t task, const ChildResult& result)> ended;
};

/// Runs every task, at most `jobs` at once, in order; returns their results in the same order. When
/// cancelled, the running ones are killed and the rest is left out.
std::vector<ChildResult> runChildren(const std::vector<ChildTask>& tasks, size_t jobs,
                                     const Progress& progress, const ChildEvents& events);

/// Path of the running program, to start it again.
Result<std::string> ownProgram();

/// In a child of runChildren: ends with the parent. Called first in main.
void followParent();

} // namespace fuselage::batch
