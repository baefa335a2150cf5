// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/pair_plan.h"

#include "app/pipeline/plan_line.h"
#include "core/support/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>

namespace fuselage::quantize {

using app::PlanLine;
using app::quotedName;

namespace {

constexpr std::string_view formatLine = "quantize 1";

Failure wrongLine(size_t line, const std::string& expected) {
    return failure("plan.syntax", fmt::format("line {}: expected {}", line, expected), "",
                   "write the plan with `fuselage quantize --plan-out`");
}

/// The ends behind the method. `line` stands in front of them.
Result<Range> readRange(PlanLine& line, size_t number) {
    const auto low = line.number();
    const bool dots = low && line.take("..");
    const auto high = dots ? line.number() : std::nullopt;
    if (!high)
        return failure("plan.syntax",
                       fmt::format("line {}: expected a range of two finite numbers, -2.5 .. 2.5, "
                                   "or `by`",
                                   number),
                       "", "write both ends, or none: the range is taken from data then");
    if (*low > *high)
        return failure(
            "plan.range",
            fmt::format("line {}: the range {} .. {} ends before it begins", number, *low, *high),
            "", fmt::format("write {} .. {}", *high, *low));
    const double farther = std::max(std::fabs(*low), std::fabs(*high));
    if (farther > static_cast<double>(FLT_MAX) ||
        (farther > 0 && farther < static_cast<double>(FLT_MIN)))
        return failure("plan.range",
                       fmt::format("line {}: the range {} .. {} is {} than float32 holds", number,
                                   *low, *high, farther > 1 ? "larger" : "smaller"),
                       "", "write what the value holds, or no range: it is taken from data then");
    return Range{*low, *high};
}

/// Who asked for a pair; false: not understood.
bool readAsker(PlanLine& line, Pair& pair) {
    const std::string rule = line.word();
    if (rule == "hand")
        return true;
    auto file = line.name();
    if (rule.empty() || !file || !line.take(":"))
        return false;
    auto at = line.integer();
    if (!at || *at < 0 || *at > UINT32_MAX)
        return false;
    pair.rule = rule;
    pair.file = std::move(*file);
    pair.ruleLine = static_cast<uint32_t>(*at);
    return true;
}

Result<Pair> readPair(PlanLine& line, size_t number) {
    Pair pair;
    pair.line = number;
    auto node = line.name();
    if (!node || !line.take("["))
        return wrongLine(number, "a node and its operand, \"node\"[0]");
    auto operand = line.integer();
    if (!operand || *operand < 0 || *operand > UINT32_MAX || !line.take("]"))
        return wrongLine(number, "the number of the operand, \"node\"[0]");
    pair.node = std::move(*node);
    pair.operand = static_cast<uint32_t>(*operand);
    pair.point = line.word();
    if (pair.point.empty() || !line.take(":"))
        return wrongLine(number, "the name of a point and `:`, e.g. INPUT:");
    auto type = storedTypeFromName(line.word());
    if (!type)
        return wrongLine(number, std::string("one of: ") + storedTypeNames());
    pair.type = *type;
    if (line.take("axis ")) {
        pair.axis = line.integer();
        if (!pair.axis)
            return wrongLine(number, "a number after `axis`");
        if (line.take("block ")) {
            auto block = line.integer();
            if (!block || *block < 1)
                return wrongLine(number, "a number from 1 on after `block`");
            pair.block = *block;
        }
    }
    auto method = rangeMethodFromName(line.word());
    if (!method)
        return wrongLine(number, "minmax, average, percentile or entropy");
    pair.method = *method;
    if (!line.take("by ")) {
        auto range = readRange(line, number);
        if (!range)
            return failure(range.error());
        pair.range = *range;
        if (!line.take("by "))
            return wrongLine(number, "`by hand`, or `by` and a rule");
    }
    if (!readAsker(line, pair))
        return wrongLine(number, "`hand`, or a rule with its place, Rule \"file\":12");
    if (!line.atEnd())
        return wrongLine(number, "the end of the line");
    return pair;
}

Result<void> readLine(std::string_view text, size_t number, PairPlan& plan) {
    PlanLine line(text);
    if (line.atEnd() || line.take("#"))
        return {};
    for (auto [word, field] : {std::pair{"model ", &plan.model}, std::pair{"data ", &plan.data}})
        if (line.take(word)) {
            auto value = line.name();
            if (!value || !line.atEnd())
                return wrongLine(number, fmt::format("a name in quotes after `{}`", word));
            *field = std::move(*value);
            plan.modelLine = field == &plan.model ? number : plan.modelLine;
            return {};
        }
    if (line.take("norm ")) {
        const std::string word = line.word();
        if ((word != "folded" && word != "kept") || !line.atEnd())
            return wrongLine(number, "`norm folded` or `norm kept`");
        plan.foldedNorm = word == "folded";
        return {};
    }
    if (line.take("smooth ")) {
        plan.smooth = line.number();
        if (!plan.smooth || !(*plan.smooth >= 0 && *plan.smooth <= 1) || !line.atEnd())
            return wrongLine(number, "a number from 0 to 1 after `smooth`");
        return {};
    }
    auto pair = readPair(line, number);
    if (!pair)
        return failure(pair.error());
    plan.pairs.push_back(std::move(*pair));
    return {};
}

} // namespace

std::string pairText(const Pair& pair) {
    return fmt::format("{}[{}] {}", quotedName(pair.node), pair.operand, pair.point);
}

std::string planText(const PairPlan& plan) {
    std::string out =
        fmt::format("{}\nmodel {}\ndata {}\nnorm {}\n", formatLine, quotedName(plan.model),
                    quotedName(plan.data), plan.foldedNorm ? "folded" : "kept");
    out += plan.smooth ? fmt::format("smooth {}\n\n", *plan.smooth) : "\n";
    for (const Pair& pair : plan.pairs) {
        out += pairText(pair) + ": " + nameOf(pair.type);
        if (pair.axis)
            out += fmt::format(" axis {}", *pair.axis);
        if (pair.axis && pair.block > 0)
            out += fmt::format(" block {}", pair.block);
        out += fmt::format(" {}", nameOf(pair.method));
        if (pair.range)
            out += fmt::format(" {} .. {}", pair.range->low, pair.range->high);
        out += pair.rule.empty()
                   ? std::string(" by hand\n")
                   : fmt::format(" by {} {}:{}\n", pair.rule, quotedName(pair.file), pair.ruleLine);
    }
    return out;
}

Result<PairPlan> parsePairPlan(std::string_view text) {
    const std::vector<std::string_view> lines = app::linesOf(text);
    if (lines.empty() || lines[0] != formatLine)
        return wrongLine(1, "`" + std::string(formatLine) + "`");
    PairPlan plan;
    for (size_t i = 1; i < lines.size(); ++i)
        if (auto read = readLine(lines[i], i + 1, plan); !read)
            return failure(read.error());
    std::map<std::pair<std::string_view, uint32_t>, size_t> reads;
    for (const Pair& pair : plan.pairs)
        if (auto [first, isNew] = reads.try_emplace({pair.node, pair.operand}, pair.line); !isNew)
            return failure("plan.twice",
                           fmt::format("line {}: {}[{}] is on line {} already", pair.line,
                                       quotedName(pair.node), pair.operand, first->second),
                           "", "take one of the two lines out: a read has one pair");
    return plan;
}

Result<PairPlan> readPairPlan(const std::string& path) {
    auto text = readFile(path);
    if (!text)
        return failure("plan.read", "cannot read the plan", path, "give a .fuseplan file");
    auto plan = parsePairPlan(*text);
    if (plan)
        return plan;
    Error error = plan.error();
    error.where = path;
    return failure(std::move(error));
}

} // namespace fuselage::quantize
