// SPDX-License-Identifier: Apache-2.0
// A subcommand: declares its options on a CLI11 app and returns what to run. One file each, one row
// in main.cpp.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace fuselage::cli {

/// Runs a parsed subcommand and returns the exit code.
using Action = std::function<int()>;

Action addFuse(CLI::App& app);
Action addBench(CLI::App& app);
Action addBatch(CLI::App& app);
Action addCompare(CLI::App& app);
Action addMerge(CLI::App& app);
Action addBaseline(CLI::App& app);
Action addReduce(CLI::App& app);
Action addExplain(CLI::App& app);
Action addDerive(CLI::App& app);
Action addInspect(CLI::App& app);
Action addRun(CLI::App& app);
Action addCheck(CLI::App& app);
Action addFmt(CLI::App& app);
Action addLsp(CLI::App& app);
Action addPlan(CLI::App& app);
Action addQuantize(CLI::App& app);
Action addTactics(CLI::App& app);
Action addTest(CLI::App& app);
Action addZoo(CLI::App& app);
Action addDevices(CLI::App& app);
Action addCalibrate(CLI::App& app);
Action addCache(CLI::App& app);
Action addDoctor(CLI::App& app);
Action addManual(CLI::App& app);
Action addCompletions(CLI::App& app);

} // namespace fuselage::cli
