// SPDX-License-Identifier: Apache-2.0
// Programs started from tests: no shell in between, output and errors captured apart, a condition
// on what was printed so far instead of a sleep, lines to its input where it takes orders.
#pragma once

#include "core/support/result.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace fuselage::testing_support {

struct ProcessOptions {
    std::string folder; ///< to run in; empty: where the test runs
    std::vector<std::pair<std::string, std::string>> environment; ///< added to the test's own
    bool takesInput = false; ///< write() reaches its standard input; else that is empty
};

struct ProcessResult {
    int exitCode = -1; ///< 128 + signal when a signal ended it
    std::string output;
    std::string errors;
};

/// A program that runs. It is killed when the object goes before it ended.
class Process {
public:
    /// Searches PATH for a bare name. Error "process.start" when it cannot be started.
    static Result<Process> start(const std::vector<std::string>& arguments,
                                 const ProcessOptions& options = {});

    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    ~Process();

    /// Reads until the condition holds on what was printed so far; false when the program ended
    /// its output before.
    bool waitUntil(const std::function<bool(const ProcessResult& soFar)>& condition);

    void signal(int number) const;

    /// False when it takes no input, or ended.
    bool write(const std::string& text) const;

    const ProcessResult& soFar() const { return m_result; }

    /// Waits for its end.
    ProcessResult finish();

private:
    Process() = default;
    bool read(); ///< one piece; false when both streams are closed

    pid_t m_pid = -1;
    int m_input = -1, m_output = -1, m_errors = -1;
    ProcessResult m_result;
};

/// Starts and finishes.
Result<ProcessResult> runProcess(const std::vector<std::string>& arguments,
                                 const ProcessOptions& options = {});

} // namespace fuselage::testing_support
