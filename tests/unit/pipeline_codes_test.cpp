// SPDX-License-Identifier: Apache-2.0
// The table of codes against the sources that use them, the cases that show their text, the manual
// that lists them, and its own examples.
#include "app/pipeline/fuse.h"
#include "app/pipeline/lint/lint.h"
#include "app/pipeline/prove/proof.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/support/file.h"
#include "dsl/codes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

using namespace fuselage;
namespace fs = std::filesystem;

namespace {

const fs::path root = FUSELAGE_SOURCE_DIR;

std::set<std::string> codesInSources() {
    std::set<std::string> out;
    std::regex literal("\"([EWMN]0[0-9]{3})\"");
    for (const char* room : {"core", "dsl", "app"})
        for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
            std::string extension = entry.path().extension().string();
            bool isTable = entry.path().filename() == "codes.cpp";
            if (isTable || (extension != ".cpp" && extension != ".h"))
                continue;
            std::string text = *readFile(entry.path().string());
            for (std::sregex_iterator it(text.begin(), text.end(), literal), end; it != end; ++it)
                out.insert((*it)[1]);
        }
    return out;
}

struct CaseText {
    std::string command;
    std::string proves;
    std::string text;
};

std::vector<CaseText> allCases() {
    std::vector<CaseText> out;
    for (const auto& entry : fs::recursive_directory_iterator(root / "tests/cases")) {
        if (entry.path().extension() != ".case")
            continue;
        std::string text = *readFile(entry.path().string());
        out.push_back({entry.path().parent_path().filename().string(),
                       text.substr(0, text.find('\n')), text});
    }
    return out;
}

/// Codes that are no near miss of a rule's text: no change of the rule lets the match go on.
const std::set<std::string> withoutFlip = {
    "M0307", // the bound of the search is an option, not text
    "M0510", // says that a phase ended, not that a match was refused
};

/// What `check --strict` looks for beyond mistakes.
const char* const lints[] = {"E0220", "E0221", "E0231", "E0302", "E0308", "E0309",
                             "E0410", "W0311", "W0313", "W0314", "W0315", "W0502"};

app::RuleLibrary libraryOf(const dsl::CodeRow& row) {
    std::string example = row.example;
    app::RuleOptions options;
    options.builtin = false;
    options.texts.push_back(
        {"rules.fuse", (example.starts_with("fuse ") ? "" : "fuse 1; ") + example + "\n"});
    return std::move(*app::loadRuleLibrary(options));
}

std::set<std::string> codesOfTrace(const app::RuleLibrary& library, const std::string& graphText) {
    auto graph = model_io::loadText(graphText);
    EXPECT_TRUE(graph) << graph.error().text();
    Progress progress;
    EXPECT_TRUE(prepareGraph(*graph, progress));
    app::FuseOptions options;
    options.explain = true;
    options.profile = "h200";
    options.decide = Decide::Cost;
    auto done = app::fuseGraph(*graph, library, options, progress);
    EXPECT_TRUE(done) << done.error().text();
    std::set<std::string> out;
    for (const TraceEvent& event : done->trace.events)
        out.insert(event.reason.code);
    for (const NearMiss& miss : done->trace.nearMisses)
        out.insert(miss.reason.code);
    return out;
}

std::set<std::string> codesShownBy(const dsl::CodeRow& row) {
    app::RuleLibrary library = libraryOf(row);
    std::set<std::string> out;
    if (row.code[0] == 'M')
        return codesOfTrace(library, row.graph);
    for (const Diagnostic& d : library.loaded.diagnostics.all())
        out.insert(d.code);
    if (!out.empty())
        return out;
    Progress progress;
    auto model = model_io::loadText("g (float[2] x) => (float[2] y) { y = Relu(x) }");
    app::LintOptions linting;
    linting.models.push_back({"a model", &*model});
    auto found = app::lintRules(library, linting, progress);
    for (const Diagnostic& d : found->all())
        out.insert(d.code);
    auto proofs = app::proveRules(library, {}, progress);
    for (const app::RuleProof& proof : *proofs)
        out.insert(proof.passed() ? "" : proof.failing > 0 ? "E0501" : "W0503");
    return out;
}

} // namespace

TEST(Codes, EveryCodeThatIsUsedHasARowAndEveryRowIsUsed) {
    std::set<std::string> used = codesInSources(), listed;
    used.insert({"E0501", "W0503"}); // written by proofText inside of longer literals
    for (const dsl::CodeRow& row : dsl::codeTable())
        EXPECT_TRUE(listed.insert(row.code).second) << row.code << " has two rows";
    EXPECT_EQ(used, listed);
}

TEST(Codes, EveryDiagnosticHasACaseWithItsWholeText) {
    std::vector<CaseText> cases = allCases();
    for (const dsl::CodeRow& row : dsl::codeTable()) {
        std::string head = std::string("# ") + row.code + ":";
        std::string shown = std::string("[") + row.code + "]: ";
        bool found = std::any_of(cases.begin(), cases.end(), [&](const CaseText& it) {
            bool named = it.proves.starts_with(head);
            bool shows = it.text.find(shown) != std::string::npos;
            if (row.code[0] != 'M')
                return named && shows;
            return it.command == "rewrite" && (named || shows) &&
                   it.text.find("\n--- trace\n") != std::string::npos;
        });
        EXPECT_TRUE(found) << "no case of tests/cases begins with `" << head
                           << "` and shows its text";
    }
}

TEST(Codes, EveryNearMissHasACaseInWhichTheSuggestedChangeMakesTheRuleFire) {
    std::regex more("\n(M0[0-9]{3}): [^\n]*\nfires ([0-9]+) -> ([0-9]+)\n");
    std::set<std::string> flipped;
    for (const CaseText& it : allCases()) {
        std::smatch match;
        if (it.command == "flip" && std::regex_search(it.text, match, more) &&
            std::stoi(match[3]) > std::stoi(match[2]))
            flipped.insert(match[1]);
    }
    for (const dsl::CodeRow& row : dsl::codeTable())
        if (row.code[0] == 'M' && !withoutFlip.contains(row.code)) {
            EXPECT_TRUE(flipped.contains(row.code)) << row.code << " has no flip case that fires";
        }
}

TEST(Codes, EveryLintHasACaseInWhichItIsSilent) {
    std::vector<CaseText> cases = allCases();
    for (const char* code : lints) {
        std::string head = std::string("# ") + code + " is silent";
        EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                                [&](const CaseText& it) {
                                    return it.proves.starts_with(head) &&
                                           it.text.ends_with("\nno diagnostics\n");
                                }))
            << "no case begins with `" << head << "`";
    }
}

TEST(Codes, EveryExampleShowsItsCode) {
    for (const dsl::CodeRow& row : dsl::codeTable())
        if (*row.example != '\0') {
            EXPECT_TRUE(codesShownBy(row).contains(row.code)) << explanation(row);
        }
}

TEST(Codes, TheManualHoldsTheTable) {
    std::string manual = *readFile((root / "dsl/README.md").string());
    EXPECT_NE(manual.find(dsl::codesAsMarkdown()), std::string::npos)
        << "put the output of `fuselage check --explain all` under `## Codes` of dsl/README.md";
}

/// tests/AUTHORS.md: every finding of a review of the language has a case, and the case is there.
TEST(Authors, EveryFindingHasACaseThatExists) {
    std::set<std::string> wanted, found, tests;
    const std::pair<char, int> findings[] = {{'W', 8}, {'M', 9}, {'F', 13}, {'X', 5}};
    for (const auto& [letter, count] : findings)
        for (int i = 1; i <= count; ++i)
            wanted.insert(letter + std::to_string(i));
    const std::regex test("\nTEST(?:_F)?\\((\\w+), (\\w+)\\)");
    for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
        if (entry.path().extension() != ".cpp")
            continue;
        const std::string text = *readFile(entry.path().string());
        for (std::sregex_iterator it(text.begin(), text.end(), test), end; it != end; ++it)
            tests.insert((*it)[1].str() + "." + (*it)[2].str());
    }
    const std::string page = *readFile((root / "tests/AUTHORS.md").string());
    const std::regex row("\n\\| ([WMFX][0-9]+) \\|[^\n]*\\|([^|\n]*)\\|(?=\n)"),
        quoted("`([^`]+)`");
    for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it) {
        found.insert((*it)[1]);
        const std::string held = (*it)[2];
        size_t cases = 0;
        for (std::sregex_iterator name(held.begin(), held.end(), quoted); name != end; ++name) {
            const std::string what = (*name)[1];
            ++cases;
            EXPECT_TRUE(what.ends_with(".case") ? fs::exists(root / "tests/cases" / what)
                                                : tests.contains(what))
                << (*it)[1] << ": there is no `" << what << "`";
        }
        EXPECT_GT(cases, 0U) << (*it)[1];
    }
    EXPECT_EQ(found, wanted);
}
