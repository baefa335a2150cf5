// SPDX-License-Identifier: Apache-2.0
// Pages of examples/ that show commands: each "$ fuselage ..." line of a console block is run in a
// copy of the folder and must print what stands below it. A line "..." stands for any lines.
#include "tests/cli/cli.h"

#include <filesystem>
#include <sstream>

using namespace fuselage::cli_test;
namespace fs = std::filesystem;

namespace {

struct Shown {
    std::vector<std::string> arguments;
    std::vector<std::string> lines;
};

std::vector<std::string> linesOf(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        out.push_back(line);
    return out;
}

std::vector<Shown> commandsOf(const std::string& page) {
    std::vector<Shown> out;
    bool inside = false;
    for (const std::string& line : linesOf(page)) {
        if (line.rfind("```", 0) == 0) {
            inside = line == "```console";
        } else if (inside && line.rfind("$ fuselage ", 0) == 0) {
            std::istringstream words(line.substr(11));
            out.emplace_back();
            for (std::string word; words >> word;)
                out.back().arguments.push_back(word);
        } else if (inside && !out.empty()) {
            out.back().lines.push_back(line);
        }
    }
    return out;
}

/// Each shown line in order; between two only where "..." allows it may others stand.
std::string difference(const std::vector<std::string>& shown,
                       const std::vector<std::string>& printed) {
    size_t at = 0;
    bool gap = false;
    for (const std::string& line : shown) {
        if (line == "...") {
            gap = true;
            continue;
        }
        while (gap && at < printed.size() && printed[at] != line)
            ++at;
        if (at == printed.size() || printed[at] != line)
            return "shown:   " + line +
                   "\nprinted: " + (at < printed.size() ? printed[at] : std::string("(the end)"));
        ++at;
        gap = false;
    }
    return gap || at == printed.size() ? "" : "printed and not shown: " + printed[at];
}

class CliExample : public Command {
protected:
    void expectPageHolds(const std::string& name) const {
        fs::copy(fs::path(FUSELAGE_EXAMPLES) / name, folder.path(),
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing);
        std::vector<Shown> commands = commandsOf(readAll(folder.file("README.md")));
        ASSERT_GE(commands.size(), 2U);
        for (const Shown& shown : commands) {
            ProcessResult ran = run(shown.arguments);
            EXPECT_EQ(difference(shown.lines, linesOf(ran.output + ran.errors)), "")
                << ran.output << ran.errors;
        }
    }
};

} // namespace

TEST_F(CliExample, FirstRule) {
    expectPageHolds("02-first-rule");
}

TEST_F(CliExample, WhyNot) {
    expectPageHolds("03-why-not");
}

TEST_F(CliExample, Conditions) {
    expectPageHolds("04-conditions");
}

TEST_F(CliExample, Attention) {
    expectPageHolds("05-attention");
}

TEST_F(CliExample, Quantize) {
    expectPageHolds("06-quantize");
}

TEST_F(CliExample, Attributes) {
    expectPageHolds("07-attributes");
}

TEST_F(CliExample, OwnOperators) {
    expectPageHolds("08-own-operators");
}
