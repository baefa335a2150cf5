// SPDX-License-Identifier: Apache-2.0
// The manual page and the completions against what `--help` says, which CLI11 prints on its own.
#include "tests/cli/cli.h"

#include <regex>
#include <sstream>

using namespace fuselage::cli_test;
using fuselage::testing_support::runProcess;

namespace {

/// What `--help` says of one command.
struct Helped {
    std::string path; ///< "baseline update"
    std::vector<std::string> options, commands;
};

class CliPages : public Command {
protected:
    std::string text(std::vector<std::string> arguments) const {
        ProcessResult ran = run(std::move(arguments));
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
        return ran.output;
    }

    Helped helped(const std::string& path) const {
        Helped out{path, {}, {}};
        std::vector<std::string> words;
        std::istringstream split(path);
        for (std::string word; split >> word;)
            words.push_back(word);
        words.emplace_back("--help");
        std::istringstream in(text(words));
        bool commands = false;
        for (std::string line; std::getline(in, line);) {
            if (!line.empty() && line[0] != ' ')
                commands = line == "Subcommands:";
            std::smatch found;
            if (commands && std::regex_search(line, found, std::regex("^  ([a-z]+) ")))
                out.commands.push_back(found[1]);
            if (!std::regex_search(line, found, std::regex("^  (-[-\\w,{}]+)")))
                continue;
            const std::string names = found[1];
            const std::regex one("--?[-a-z]+");
            for (std::sregex_iterator at(names.begin(), names.end(), one), end; at != end; ++at)
                out.options.push_back(at->str());
        }
        return out;
    }

    std::vector<Helped> everything() const {
        std::vector<Helped> out{helped("")};
        for (size_t i = 0; i < out.size(); ++i)
            for (const std::string& name : std::vector<std::string>(out[i].commands))
                out.push_back(helped(out[i].path.empty() ? name : out[i].path + " " + name));
        return out;
    }

    /// What bash would offer for the last of the words.
    std::string offered(const std::vector<std::string>& words) const {
        folder.write("completion", text({"completions", "bash"}));
        std::string line = "source " + folder.file("completion") + "; COMP_WORDS=(";
        for (const std::string& word : words)
            line += "'" + word + "' ";
        line += "); COMP_CWORD=" + std::to_string(words.size() - 1) +
                "; _fuselage; echo \" ${COMPREPLY[*]} \"";
        auto ran = runProcess({"bash", "--norc", "-c", line});
        EXPECT_TRUE(ran);
        return ran ? ran->output + ran->errors : "";
    }
};

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != std::string::npos;
}

/// The part of the manual page on one command.
std::string sectionOf(const std::string& page, const std::string& path) {
    const size_t at = page.find(path.empty() ? ".SH OPTIONS\n" : ".SS fuselage " + path + "\n");
    return at == std::string::npos ? "" : page.substr(at, page.find("\n.S", at + 1) - at);
}

std::string troff(std::string text) {
    for (size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2)
        text.insert(at, "\\");
    return "\\fB" + text + "\\fR";
}

} // namespace

TEST_F(CliPages, TheManualPageHasEveryCommandAndOptionOfTheHelp) {
    const std::string page = text({"manual"});
    const std::vector<Helped> all = everything();
    ASSERT_GT(all.size(), 20U);
    for (const Helped& command : all) {
        const std::string section = sectionOf(page, command.path);
        EXPECT_FALSE(section.empty()) << command.path;
        EXPECT_FALSE(command.options.empty()) << command.path;
        for (const std::string& option : command.options)
            EXPECT_TRUE(has(section, troff(option))) << command.path << " " << option;
    }
    EXPECT_TRUE(has(page, ".SH EXIT STATUS"));
}

TEST_F(CliPages, BashOffersEveryCommandAndOptionOfTheHelp) {
    for (const Helped& command : everything()) {
        std::vector<std::string> words{"fuselage"};
        std::istringstream split(command.path);
        for (std::string word; split >> word;)
            words.push_back(word);
        words.emplace_back("-");
        const std::string options = offered(words);
        for (const std::string& option : command.options)
            EXPECT_TRUE(has(options, " " + option + " ")) << command.path << ": " << options;
        words.back() = "";
        const std::string plain = command.commands.empty() ? "" : offered(words);
        for (const std::string& name : command.commands)
            EXPECT_TRUE(has(plain, " " + name + " ")) << command.path << ": " << plain;
    }
}

TEST_F(CliPages, BashOffersTheValuesOfAnOption) {
    EXPECT_EQ(offered({"fuselage", "batch", "models", "--baseline-policy", "l"}), " lenient \n");
    EXPECT_EQ(offered({"fuselage", "batch", "--measure", "=", "of"}), " off \n");
    EXPECT_TRUE(has(offered({"fuselage", "zoo", "resnet5"}), " resnet50 "));
    EXPECT_EQ(offered({"fuselage", "bench", "--report", ""}), "  \n") << "files, by the shell";
}

TEST_F(CliPages, FishOffersEveryCommandAndOptionOfTheHelp) {
    folder.write("completion", text({"completions", "fish"}));
    auto fish = [&](const std::string& line) {
        return runProcess({"fish", "--no-config", "-c",
                           "source " + folder.file("completion") + "; complete -C '" + line + "'"});
    };
    if (!fish(""))
        GTEST_SKIP() << "no fish on this machine";
    for (const Helped& command : everything()) {
        const std::string start = "fuselage " + command.path + (command.path.empty() ? "" : " ");
        auto ran = fish(start + "-");
        ASSERT_TRUE(ran);
        for (const std::string& option : command.options) {
            // It offers long names first, and short ones only where there is no long one.
            const bool shown = has("\n" + ran->output, "\n" + option + "\t");
            EXPECT_TRUE(shown || !option.starts_with("--")) << start << option << ran->errors;
        }
        ran = fish(start);
        for (const std::string& name : command.commands)
            EXPECT_TRUE(has("\n" + ran->output, "\n" + name + "\t")) << start << name;
    }
}

TEST_F(CliPages, ZshReadsItsScriptAndHasEveryOption) {
    const std::string script = text({"completions", "zsh"});
    for (const Helped& command : everything()) {
        std::string name = "_fuselage" + std::string(command.path.empty() ? "" : "_");
        for (char c : command.path)
            name += c == ' ' ? '_' : c;
        const size_t at = script.find("\n" + name + "() {\n");
        ASSERT_NE(at, std::string::npos) << name;
        const std::string body = script.substr(at, script.find("\n}\n", at) - at);
        for (const std::string& option : command.options)
            EXPECT_TRUE(has(body, option)) << name << " " << option;
    }
    folder.write("_fuselage", script);
    // Loads it as the shell does: from a folder of functions, by the completion system.
    auto ran = runProcess({"zsh", "-f", "-c",
                           "fpath=(" + folder.path() +
                               " $fpath); autoload -Uz compinit; compinit -u -D; "
                               "autoload +X _fuselage && echo $_comps[fuselage]"});
    if (!ran)
        GTEST_SKIP() << "no zsh on this machine";
    EXPECT_EQ(ran->output, "_fuselage\n") << ran->errors;
}
