// SPDX-License-Identifier: Apache-2.0
#include "tests/filetest/case_file.h"

#include <fstream>
#include <sstream>

namespace fuselage::filetest {

namespace {

std::vector<std::string> linesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

/// "test rewrite rules=a.fuse" -> command and options.
bool readHeader(const std::string& line, CaseFile& file) {
    std::istringstream in(line);
    std::string word;
    if (!(in >> word) || word != "test" || !(in >> file.command))
        return false;
    while (in >> word) {
        size_t equals = word.find('=');
        if (equals == std::string::npos)
            return false;
        file.options[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return true;
}

void trimEnd(std::string& text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.pop_back();
}

} // namespace

const std::string* CaseFile::find(const std::string& name) const {
    for (const Section& section : sections)
        if (section.name == name)
            return &section.text;
    return nullptr;
}

std::string CaseFile::option(const std::string& name, const std::string& fallback) const {
    auto found = options.find(name);
    return found == options.end() ? fallback : found->second;
}

Result<CaseFile> readCase(const std::string& path) {
    std::ifstream in(path);
    if (!in)
        return failure("case.read", "cannot read", path);
    CaseFile file;
    file.path = path;
    std::string line;
    if (!std::getline(in, line) || line.rfind("# ", 0) != 0)
        return failure("case.form", "line 1 must be a comment that says what the case proves",
                       path);
    file.proves = line.substr(2);
    if (!std::getline(in, line) || !readHeader(line, file))
        return failure("case.form", "line 2 must be `test COMMAND [name=value]...`", path);
    while (std::getline(in, line)) {
        if (line.rfind("--- ", 0) == 0) {
            file.sections.push_back({line.substr(4), ""});
            trimEnd(file.sections.back().name);
        } else if (!file.sections.empty()) {
            file.sections.back().text += line + "\n";
        }
    }
    for (Section& section : file.sections)
        trimEnd(section.text);
    return file;
}

std::string render(const CaseFile& file, const std::map<std::string, std::string>& actual) {
    std::string out = "# " + file.proves + "\ntest " + file.command;
    for (const auto& [name, value] : file.options)
        out += " " + name + "=" + value;
    out += "\n";
    for (const Section& section : file.sections) {
        auto found = actual.find(section.name);
        std::string text = found == actual.end() ? section.text : found->second;
        trimEnd(text);
        out += "--- " + section.name + "\n" + text + "\n";
    }
    return out;
}

std::string difference(const std::string& expected, const std::string& actual) {
    std::vector<std::string> a = linesOf(expected), b = linesOf(actual);
    // Longest common subsequence; case sections are short.
    std::vector<std::vector<size_t>> common(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
    for (size_t i = a.size(); i-- > 0;)
        for (size_t j = b.size(); j-- > 0;)
            common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1
                                        : std::max(common[i + 1][j], common[i][j + 1]);
    std::string out;
    size_t i = 0, j = 0;
    while (i < a.size() || j < b.size()) {
        if (i < a.size() && j < b.size() && a[i] == b[j]) {
            out += "    " + a[i] + "\n";
            ++i, ++j;
        } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
            out += "  - " + a[i++] + "\n";
        } else {
            out += "  + " + b[j++] + "\n";
        }
    }
    return out;
}

} // namespace fuselage::filetest
