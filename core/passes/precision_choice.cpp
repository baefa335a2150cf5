// SPDX-License-Identifier: Apache-2.0
// What a person says about the precision of single nodes.
#include "core/passes/precision_choice.h"

#include "core/support/file.h"

#include <sstream>

namespace fuselage {

namespace {

constexpr std::string_view ofRule = "rule:";

bool is16Bit(Precision precision) {
    return storageOf(precision) != DType::Float32;
}

/// One text of a person, and where it stands.
struct Line {
    std::string text;
    std::string where; ///< "FILE:12"; empty: on the command line

    std::string place() const { return where.empty() ? text : where + ": " + text; }
};

Failure badChoice(const Line& line, const std::string& message) {
    return failure("usage.precision", message, line.place(),
                   "write 'NODES=fp32', or the 16-bit type of the other nodes for fp32; NODES is a "
                   "node's name, op:OPERATOR or 'op:Conv group>1'");
}

std::string trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
    return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end + 1 - begin));
}

/// The lines of "@FILE", any other text itself.
Result<std::vector<Line>> linesOfChoice(const std::string& text) {
    if (!text.starts_with('@'))
        return std::vector{Line{text, {}}};
    const std::string path = text.substr(1);
    auto file = readFile(path);
    if (!file)
        return failure(file.error());
    std::vector<Line> out;
    std::istringstream lines(*file);
    size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line = trimmed(line.substr(0, line.find('#'))); !line.empty())
            out.push_back({line, path + ":" + std::to_string(number)});
    }
    return out;
}

} // namespace

Result<PrecisionChoice> parsePrecisionChoice(Precision base,
                                             const std::vector<std::string>& texts) {
    PrecisionChoice out{base};
    Line first;
    for (const std::string& text : texts) {
        auto lines = linesOfChoice(text);
        if (!lines)
            return failure(lines.error());
        for (const Line& line : *lines) {
            first = first.text.empty() ? line : first;
            const size_t equals = line.text.rfind('=');
            if (equals == std::string::npos || equals == 0)
                return badChoice(line, equals == 0 ? "no node is named before `=`"
                                                   : "no precision is given");
            const std::string name = trimmed(line.text.substr(equals + 1));
            auto precision = precisionFromName(name);
            if (!precision || *precision == Precision::Tf32)
                return badChoice(line, "`" + name + "` is no precision of single nodes");
            if (is16Bit(*precision) && !is16Bit(out.precision)) {
                out.precision = *precision;
                out.except.restIsWide = true;
            }
            if (is16Bit(*precision) && *precision != out.precision)
                return badChoice(line, std::string("one model stores one 16-bit type, here ") +
                                           nameOf(out.precision));
            const std::string named = trimmed(line.text.substr(0, equals));
            const bool wide = !is16Bit(*precision);
            if (named.starts_with(ofRule) && named.size() > ofRule.size()) {
                out.except.of.push_back(
                    {NodeChoice::ofNames(named, {}), wide, named.substr(ofRule.size())});
                continue;
            }
            auto nodes = NodeChoice::parse(named);
            if (!nodes) {
                Error error = nodes.error();
                error.where = line.place();
                return failure(std::move(error));
            }
            out.except.of.push_back({std::move(*nodes), wide});
        }
    }
    if (!out.except.of.empty() && !is16Bit(out.precision))
        return failure("usage.precision",
                       "asks for fp32, which all nodes compute in already: nothing is in 16 bits",
                       first.place(), "leave it out, or give --precision fp16 or bf16");
    return out;
}

} // namespace fuselage
