// SPDX-License-Identifier: Apache-2.0
// What the command line shows on standard error: a progress bar for work over a second, and errors.
// Ctrl-C and SIGTERM cancel the running work; a second one ends the program at once.
#pragma once

#include "core/support/progress.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fuselage::cli {

/// Progress on a terminal: one line redrawn at most ten times a second, only after the first
/// second; on a file or pipe one line a stage.
class ConsoleProgress final : public Progress {
public:
    /// `quiet` draws nothing but still cancels. Installs the handler of Ctrl-C and SIGTERM.
    explicit ConsoleProgress(bool quiet);
    ~ConsoleProgress() override;
    void report(std::string_view stage, size_t done, size_t total) override;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

/// Prints "fuselage: where: message" with the fix on a line of its own and returns the exit code
/// that its code prefix stands for ("load." 3, "cancelled" 130 ...).
int reportError(const Error& error);

/// What was noted about a model, a line each on standard error: where standard output holds data.
/// `quiet` prints nothing.
void printNotes(const std::vector<std::string>& notes, bool quiet = false);

/// Exit code of work that Ctrl-C or SIGTERM ended.
int interruptedCode();

/// "N=4" entries as a map; error "usage.dim" quotes the entry that is not NAME=NUMBER.
Result<std::map<std::string, int64_t>> parseDims(const std::vector<std::string>& entries);

/// Prints to standard output what people read, with names' control characters visible; a closed
/// pipe ends the program quietly.
void printOut(const std::string& text);

/// The same for what is a file's content: nothing is changed.
void writeOut(const std::string& text);

/// The exit code of the program: `exitCode`, or that of an output that could not be written.
int outputLost(int exitCode);

} // namespace fuselage::cli
