// SPDX-License-Identifier: Apache-2.0
#include "app/report/pairs_text.h"

#include "app/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::app {

namespace {

std::string quoted(const std::string& name) {
    return "`" + name + "`";
}

std::string readersText(const PairReport& pair) {
    constexpr size_t shown = 3;
    std::string out;
    for (size_t i = 0; i < pair.readers.size() && i < shown; ++i)
        out += (i > 0 ? ", " : "") + quoted(pair.readers[i].node);
    if (pair.readers.size() > shown)
        out += fmt::format(" and {} more", pair.readers.size() - shown);
    return out;
}

std::string lineOf(const PairReport& pair) {
    std::string out = fmt::format("  {} {}, scale {}", quoted(pair.value), pair.type, pair.scale);
    if (!pair.range.empty())
        out += ", holds " + pair.range;
    out += "\n    opens: " + opensText(pair);
    if (pair.reformatBytes > 0)
        out += "\n    converts: " + bytesText(pair.reformatBytes) + " in kernels of its own";
    if (const std::string blocked = blocksText(pair); !blocked.empty())
        out += "\n    blocks: " + blocked;
    return out + "\n";
}

} // namespace

std::string opensText(const PairReport& pair) {
    std::string out;
    for (const PairReader& reader : pair.readers)
        if (!reader.kernel.empty())
            out +=
                fmt::format("{}{} for {}{}", out.empty() ? "" : "; ", reader.kernel,
                            quoted(reader.node), reader.rule.empty() ? "" : " by " + reader.rule);
    if (!out.empty())
        return out;
    if (pair.readers.empty())
        return "nothing: an output of the model";
    out = "nothing: " + readersText(pair) + " in float";
    std::set<std::string> said;
    for (const PairReader& reader : pair.readers)
        if (!reader.lacks.empty() && said.insert(reader.lacks).second)
            out += (said.size() == 1 ? ": " : "; ") + reader.lacks;
    return out;
}

std::string blocksText(const PairReport& pair) {
    if (pair.blockedNodes.size() < 2)
        return {};
    return fmt::format("{} on {} and {}", pair.blockedRule, quoted(pair.blockedNodes[0]),
                       quoted(pair.blockedNodes[1]));
}

std::string renderPairs(const std::vector<PairReport>& pairs, size_t most, bool all) {
    if (pairs.empty())
        return {};
    std::map<std::string, size_t> kernels;
    size_t opening = 0, blocking = 0;
    int64_t bytes = 0;
    for (const PairReport& pair : pairs) {
        opening += pair.opens() ? 1 : 0;
        blocking += pair.blockedNodes.empty() ? 0 : 1;
        bytes += pair.reformatBytes;
        for (const PairReader& reader : pair.readers)
            if (!reader.kernel.empty()) {
                ++kernels[reader.kernel];
                break;
            }
    }
    std::string list;
    for (const auto& [kernel, count] : kernels)
        list += fmt::format("{} {} {}", list.empty() ? ":" : ",", count, kernel);
    std::string out =
        fmt::format("stored values: {} of {} are read as stored{}\n", opening, pairs.size(), list);
    if (bytes > 0)
        out += "  " + bytesText(bytes) + " in kernels that only convert\n";
    if (blocking > 0)
        out += fmt::format("  {} in the way of a fusion\n", blocking);
    size_t shown = 0, left = 0;
    for (const PairReport& pair : pairs) {
        if (pair.opens() && pair.blockedNodes.empty() && !all)
            continue;
        if (shown < most)
            out += lineOf(pair);
        (shown < most ? shown : left) += 1;
    }
    if (left > 0)
        out += fmt::format("  and {} more; a report in JSON or HTML has all\n", left);
    return out;
}

std::vector<NodeErrorReport> worstFirst(std::vector<NodeErrorReport> errors) {
    std::stable_sort(errors.begin(), errors.end(),
                     [](const auto& a, const auto& b) { return a.relative > b.relative; });
    return errors;
}

std::string nodeErrorText(const NodeErrorReport& error) {
    return error.relative > 0 ? fmt::format("{:.1e} ({:.1f} dB)", error.relative, error.decibels())
                              : "0";
}

std::string renderNodeErrors(const std::vector<NodeErrorReport>& errors, size_t most) {
    using Align = TextTable::Align;
    if (errors.empty())
        return {};
    TextTable table({Align::Left, Align::Right, Align::Right});
    table.row({"node", "relative error", "largest difference"});
    const std::vector<NodeErrorReport> sorted = worstFirst(errors);
    for (size_t i = 0; i < sorted.size() && i < most; ++i)
        table.row({sorted[i].node, nodeErrorText(sorted[i]),
                   fmt::format("{:.2e}", sorted[i].maxAbsolute)});
    std::string out =
        "error by node, against float, with what the nodes before lost\n" + table.text();
    if (sorted.size() > most)
        out +=
            fmt::format("  and {} more; a report in JSON or HTML has all\n", sorted.size() - most);
    return out;
}

} // namespace fuselage::app
