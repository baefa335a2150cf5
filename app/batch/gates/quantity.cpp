// SPDX-License-Identifier: Apache-2.0
#include "app/batch/gates/quantity.h"

#include "app/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace fuselage::batch {

namespace {

/// What the ends of names say.
struct Measure {
    const char* ending;
    const char* what;
    double bare; ///< what a number without a unit is times
    const char* fix;
};

constexpr Measure measures[] = {
    {"_us", "a time", 1e-6, "write e.g. 20us, 1.5ms or 2s; a bare number is in us"},
    {"_bytes", "a number of bytes", 1, "write e.g. 4096, 64kB or 2MiB; a bare number is in bytes"},
    {"", "a plain number", 1, "write a number without a unit, e.g. 20"}};

struct Unit {
    std::string_view name;
    std::string_view ending; ///< of the metrics that have it
    double factor;
};

constexpr Unit units[] = {{"ns", "_us", 1e-9},        {"us", "_us", 1e-6},
                          {"ms", "_us", 1e-3},        {"s", "_us", 1},
                          {"B", "_bytes", 1},         {"kB", "_bytes", 1e3},
                          {"MB", "_bytes", 1e6},      {"GB", "_bytes", 1e9},
                          {"KiB", "_bytes", 1 << 10}, {"MiB", "_bytes", 1 << 20},
                          {"GiB", "_bytes", 1 << 30}};

const Measure& measureOf(std::string_view metric) {
    if (metric.find('.') != std::string_view::npos) // "matches.RULE" is a count, whatever the rule
        return *std::rbegin(measures);
    const Measure* out = std::begin(measures);
    while (!metric.ends_with(out->ending)) // every name ends in the empty one
        ++out;
    return *out;
}

/// In the largest unit that leaves no zero in front: rounded as little as "{:g}" does.
std::string timeText(double seconds) {
    if (seconds < 1e-3)
        return fmt::format("{:g} us", seconds * 1e6);
    return seconds < 1 ? fmt::format("{:g} ms", seconds * 1e3) : fmt::format("{:g} s", seconds);
}

} // namespace

Result<Limit> limitFromText(std::string_view text, const std::string& metric) {
    const Measure& measure = measureOf(metric);
    Limit out;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
    if (error != std::errc() || !std::isfinite(out.value) || out.value < 0)
        return failure("usage.gate", fmt::format("`{}` is no number", text), "", measure.fix);
    std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
    while (unit.starts_with(' '))
        unit.remove_prefix(1);
    if (unit.empty())
        return limitFromNumber(out.value, metric);
    if (unit == "%") {
        out.value /= 100;
        out.relative = true;
        return out;
    }
    for (const Unit& known : units)
        if (unit == known.name) {
            if (known.ending != measure.ending)
                return failure("usage.gate",
                               fmt::format("`{}` is {}, and `{}` is {}", text,
                                           measureOf(known.ending).what, metric, measure.what),
                               "", measure.fix);
            out.value *= known.factor;
            return out;
        }
    return failure("usage.gate", fmt::format("`{}` is no unit", unit), "", measure.fix);
}

Limit limitFromNumber(double number, const std::string& metric) {
    return {number * measureOf(metric).bare, false};
}

double inNamedUnit(double amount, const std::string& metric) {
    return amount / measureOf(metric).bare;
}

std::string unitOf(const std::string& metric) {
    const std::string_view ending = measureOf(metric).ending;
    return std::string(ending.substr(std::min<size_t>(1, ending.size()))); // without its `_`
}

std::string text(const Limit& limit, const std::string& metric) {
    if (limit.relative)
        return fmt::format("{:g} %", limit.value * 100);
    const std::string_view ending = measureOf(metric).ending;
    if (ending == "_us")
        return timeText(limit.value);
    if (ending == "_bytes" && limit.value == std::floor(limit.value) && limit.value < 1e18)
        return app::countText(static_cast<int64_t>(limit.value)) + " B";
    return fmt::format("{:g}{}", limit.value, ending == "_bytes" ? " B" : "");
}

} // namespace fuselage::batch
