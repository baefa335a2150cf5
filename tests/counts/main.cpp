// SPDX-License-Identifier: Apache-2.0
// counts zoo TABLES | points TABLES | exports TABLES FOLDER | precision | predictions | shuffled |
// synthetic: exit 0 all as expected, 1 not, 77 skipped. counts write FOLDER prints the table of
// exports; counts coverage TABLES prints it as Markdown, with a page after it checks that the page
// holds it.
#include "tests/counts/checks.h"

#include <fmt/format.h>

#include <cstdlib>

using namespace fuselage;

namespace {

int exitCode(int wrong) {
    fmt::print("{}\n", wrong == 0 ? "all as expected" : fmt::format("{} differ", wrong));
    return wrong == 0 ? 0 : 1;
}

/// The folder of the build, or of the environment where the build names none.
std::string modelFolder(const std::string& configured) {
    const char* fromEnvironment = std::getenv("FUSELAGE_MODELS");
    return configured.empty() && fromEnvironment ? fromEnvironment : configured;
}

} // namespace

int main(int argc, char** argv) {
    std::string what = argc > 1 ? argv[1] : "";
    if (what == "zoo" && argc == 3)
        return exitCode(counts::checkZoo(argv[2]));
    if (what == "exports" && argc == 4) {
        int wrong = counts::checkExports(argv[2], modelFolder(argv[3]));
        if (wrong >= 0)
            return exitCode(wrong);
        fmt::print("skipped: no exported models; set FUSELAGE_MODELS to their folder\n");
        return 77;
    }
    if (what == "points" && argc == 3)
        return exitCode(counts::checkPoints(argv[2]));
    if (what == "precision" && argc == 2)
        return exitCode(counts::checkPrecision());
    if (what == "predictions" && argc == 2)
        return exitCode(counts::checkPredictions());
    if (what == "shuffled" && argc == 2)
        return exitCode(counts::checkShuffled());
    if (what == "synthetic" && argc == 2)
        return exitCode(counts::checkSynthetic());
    if (what == "write" && argc == 3)
        return counts::writeExports(argv[2]) == 0 ? 0 : 1;
    if (what == "coverage" && (argc == 3 || argc == 4))
        return counts::writeCoverage(argv[2], argc == 4 ? argv[3] : "");
    fmt::print("usage: counts zoo TABLES | points TABLES | exports TABLES FOLDER | precision | "
               "predictions |\n"
               "  shuffled | synthetic | write FOLDER | coverage TABLES [PAGE]\n");
    return 2;
}
