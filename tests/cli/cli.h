// SPDX-License-Identifier: Apache-2.0
// What the tests of whole commands share: `fuselage` in a folder of its own, its exit code, its two
// streams and what it left on disk.
#pragma once

#include "app/cli/exit_codes.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace fuselage::cli_test {

using testing_support::Process;
using testing_support::ProcessOptions;
using testing_support::ProcessResult;
using testing_support::TemporaryFolder;
using namespace cli; // exit codes

class Command : public testing::Test {
protected:
    /// FUSELAGE_PROGRAM with these arguments, in `folder`.
    ProcessResult run(std::vector<std::string> arguments) const;

    /// Standard output of a command that succeeds.
    std::string outputOf(const std::vector<std::string>& arguments) const;

    /// The same as run(), still running.
    Process start(std::vector<std::string> arguments) const;

    /// Runs; the exit code, every piece of standard error, and nothing new in the folder.
    void expectRefused(const std::vector<std::string>& arguments, int exitCode,
                       const std::vector<std::string>& pieces) const;

    /// Names of everything in the folder.
    std::set<std::string> files() const;

    /// Writes a network of the zoo to NAME.onnx in the folder.
    void zoo(const std::string& name) const;

    /// A graph in ONNX's textual syntax as m.onnx in the folder.
    void writeText(const std::string& text) const;

    TemporaryFolder folder;
};

/// A failure that shows all of `text` when `piece` is not in it.
void expectHas(const std::string& text, const std::string& piece);

/// Contents of a file, "" when it cannot be read.
std::string readAll(const std::string& path);

} // namespace fuselage::cli_test
