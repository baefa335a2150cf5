// SPDX-License-Identifier: Apache-2.0
// The manual page: one page for all commands, since they share most of their words.
#include "app/cli/exit_codes.h"
#include "app/cli/pages/page.h"

#include <fmt/format.h>

#include <sstream>

namespace fuselage::cli {

namespace {

/// Text of a person in troff: nothing in it is a request or an escape.
std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text)
        switch (c) {
        case '\\':
            out += "\\e";
            break;
        case '-':
            out += "\\-";
            break;
        case '\'':
            out += "\\(aq";
            break;
        case '`':
            out += "\\(ga";
            break;
        default:
            out += c;
        }
    return out.starts_with('.') ? "\\&" + out : out;
}

/// Lines as they are, in a block without filling.
std::string verbatim(const std::string& text) {
    std::string out = ".nf\n";
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        out += line.empty() ? ".sp\n" : escaped(line) + "\n";
    return out + ".fi\n";
}

std::string valueOf(const OptionPage& option) {
    if (option.words.empty() || option.words.size() > 6)
        return option.value;
    return listed(option.words, "|");
}

std::string entry(const OptionPage& option) {
    std::string head;
    for (const std::string& name : option.names)
        head += (head.empty() ? "\\fB" : ", \\fB") + escaped(name) + "\\fR";
    const bool positional = option.names.front().front() != '-';
    if (!option.value.empty() && !positional)
        head += " \\fI" + escaped(valueOf(option)) + "\\fR";
    std::string out = ".TP\n" + head + "\n" + escaped(option.help);
    if (!option.initial.empty())
        out += " (default " + escaped(option.initial) + ")";
    return out + "\n";
}

std::string synopsis(const std::string& path, const CommandPage& page) {
    std::string out = ".B fuselage " + escaped(path) + "\n";
    if (!page.commands.empty())
        out += ".I command\n";
    out += "[\\fIoptions\\fR]";
    for (const OptionPage& word : page.positionals) {
        const std::string name =
            "\\fI" + escaped(word.names.front()) + "\\fR" + (word.repeatable ? "..." : "");
        out += word.required ? " " + name : " [" + name + "]";
    }
    return out + "\n";
}

std::string section(const std::string& path, const CommandPage& page) {
    std::string out = ".SS fuselage " + escaped(path) + "\n" + synopsis(path, page) + ".PP\n" +
                      escaped(page.help) + "\n";
    for (const std::vector<OptionPage>* options : {&page.positionals, &page.options})
        for (const OptionPage& option : *options)
            out += entry(option);
    if (!page.examples.empty())
        out += ".PP\n" + verbatim(page.examples);
    return out;
}

std::string exitStatus() {
    std::string out = ".SH EXIT STATUS\n";
    for (const ExitMeaning& row : exitMeanings)
        out +=
            fmt::format(".TP\n\\fB{}\\fR\n{}\n", static_cast<int>(row.code), escaped(row.meaning));
    return out;
}

constexpr const char* environment = R"(.SH ENVIRONMENT
.TP
\fBXDG_CACHE_HOME\fR
where compiled kernels are kept, in the folder \fIfuselage\fR of it (default \fI~/.cache\fR); see \fB\-\-cache\fR
.TP
\fBOMP_WAIT_POLICY\fR
how threads that wait for work do so; without it they sleep soon
.SH SEE ALSO
.BR fuselage\-studio (1)
)";

} // namespace

std::string manualPage(const CommandPage& page, std::string_view version) {
    std::string out = fmt::format(".\\\" Generated from the table of commands.\n"
                                  ".TH FUSELAGE 1 \"\" \"fuselage {}\" \"User Commands\"\n"
                                  ".SH NAME\nfuselage \\- {}\n"
                                  ".SH SYNOPSIS\n.B fuselage\n.I command\n[\\fIoptions\\fR] ...\n",
                                  version, "see, write and measure operator fusion on ONNX models");
    out += ".SH DESCRIPTION\n"
           "Opens an ONNX model, matches fusion rules written in small \\fI.fuse\\fR files, turns "
           "each match into one fused node and runs the model before and after.\n"
           "Progress goes to standard error; no network is ever used.\n"
           ".SH OPTIONS\n";
    for (const OptionPage& option : page.options)
        out += entry(option);
    out += ".SH COMMANDS\n";
    for (const PlacedPage& place : placed(page))
        if (!place.path.empty())
            out += section(place.path, *place.page);
    return out + exitStatus() + environment;
}

} // namespace fuselage::cli
