// SPDX-License-Identifier: Apache-2.0
// fuselage: the command line. Parses, runs one subcommand, maps failures to exit codes.
#include "app/cli/command.h"
#include "app/cli/exit_codes.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

using namespace fuselage::cli;

struct Row {
    const char* name;
    const char* help;
    Action (*add)(CLI::App&);
};

constexpr Row rows[] = {
    {"fuse", "rewrite a model with fusion rules and write it back", addFuse},
    {"bench", "run a model before and after fusion, verify, time every kernel", addBench},
    {"explain", "why a node or rule did not fuse: the step, both values", addExplain},
    {"inspect", "operators, shapes and traffic of a model; what is unknown", addInspect},
    {"run", "run a model on given or generated inputs and save the outputs", addRun},
    {"check", "parse and check .fuse files; no model needed", addCheck},
    {"zoo", "write a well-known network with seeded weights", addZoo},
    {"devices", "the device profiles that predictions can use", addDevices},
    {"doctor", "what was found on this machine and what is used", addDoctor},
};

constexpr const char* footer = R"(examples:
  fuselage zoo resnet50 -o resnet50.onnx
  fuselage bench resnet50.onnx
  fuselage fuse resnet50.onnx -o fused.onnx
  fuselage fuse model.onnx -o out.onnx --no-builtin -p my_rules.fuse
  fuselage explain model.onnx --node Add_17
  fuselage bench model.onnx --dim N=4 --device h200

exit codes: 0 fine, 1 gate or rule test failed, 2 usage, 3 model or .fuse file invalid,
4 verification failed, 5 device missing, 6 resources, 10 internal error, 130 interrupted)";

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Fuselage: see, write and measure operator fusion on ONNX models", "fuselage");
    app.set_version_flag("--version", FUSELAGE_VERSION);
    app.require_subcommand(1);
    app.footer(footer);
    std::vector<std::pair<CLI::App*, Action>> actions;
    for (const Row& row : rows) {
        CLI::App* sub = app.add_subcommand(row.name, row.help);
        actions.emplace_back(sub, row.add(*sub));
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? ExitOk : ExitUsage;
    }
    for (const auto& [sub, action] : actions)
        if (sub->parsed())
            return action();
    return ExitUsage;
}
