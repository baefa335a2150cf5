// SPDX-License-Identifier: Apache-2.0
// filetest [--bless] PATH...: runs case files and folders of them. Exit 0 all passed, 1 some
// failed, 77 all were skipped.
#include "tests/filetest/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace fuselage;
using namespace fuselage::filetest;

namespace {

enum class Verdict { Passed, Failed, Skipped };

Verdict runCase(const std::string& path, bool bless) {
    auto file = readCase(path);
    if (!file) {
        fmt::print("FAILED {}\n  {}\n", path, file.error().text());
        return Verdict::Failed;
    }
    auto command = commands().find(file->command);
    if (command == commands().end()) {
        fmt::print("FAILED {}\n  no command `{}`\n", path, file->command);
        return Verdict::Failed;
    }
    Outcome outcome = command->second(*file);
    if (outcome.skipped) {
        fmt::print("skipped {}: {}\n", path, *outcome.skipped);
        return Verdict::Skipped;
    }
    if (outcome.broken) {
        fmt::print("FAILED {}\n  {}\n", path, *outcome.broken);
        return Verdict::Failed;
    }
    std::string wanted = render(*file, {}), actual = render(*file, outcome.sections);
    bool checks = false;
    for (const auto& [name, text] : outcome.sections)
        checks = checks || file->find(name);
    if (!checks) {
        fmt::print("FAILED {}\n  no section that `{}` computes: the case cannot fail\n", path,
                   file->command);
        return Verdict::Failed;
    }
    if (bless) {
        std::ofstream(path) << actual;
        return Verdict::Passed;
    }
    if (wanted == actual)
        return Verdict::Passed;
    fmt::print("FAILED {}\n  {}\n{}\n  to accept: filetest --bless {}\n", path, file->proves,
               difference(wanted, actual), path);
    return Verdict::Failed;
}

/// The case files of a folder, sorted; or the file itself.
std::vector<std::string> casesAt(const std::string& path) {
    namespace fs = std::filesystem;
    if (!fs::is_directory(path))
        return {path};
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.path().extension() == ".case")
            out.push_back(entry.path().string());
    std::sort(out.begin(), out.end());
    return out;
}

} // namespace

int main(int argc, char** argv) {
    bool bless = false;
    int passed = 0, failed = 0, skipped = 0;
    for (int i = 1; i < argc; ++i) {
        std::string argument = argv[i];
        if (argument == "--bless") {
            bless = true;
            continue;
        }
        std::vector<std::string> cases = casesAt(argument);
        if (cases.empty()) {
            fmt::print("FAILED {}\n  holds no .case file\n", argument);
            ++failed;
        }
        for (const std::string& path : cases) {
            Verdict verdict = runCase(path, bless);
            passed += verdict == Verdict::Passed;
            failed += verdict == Verdict::Failed;
            skipped += verdict == Verdict::Skipped;
        }
    }
    fmt::print("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
    if (failed > 0)
        return 1;
    return passed == 0 ? 77 : 0;
}
