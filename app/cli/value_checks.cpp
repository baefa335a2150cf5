// SPDX-License-Identifier: Apache-2.0
#include "app/cli/value_checks.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace fuselage::cli {

namespace {

template <typename T> bool parse(const std::string& text, T& value) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

/// As a factor of bytes; 0: no unit that is known.
int64_t factorOf(std::string unit) {
    for (char& c : unit)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (unit.ends_with("ib"))
        unit.resize(unit.size() - 2);
    else if (unit.ends_with("b"))
        unit.pop_back();
    constexpr std::string_view units = "kmgt";
    if (unit.empty())
        return 1;
    const size_t power = unit.size() == 1 ? units.find(unit[0]) : std::string_view::npos;
    return power == std::string_view::npos ? 0 : int64_t{1} << (10 * (power + 1));
}

} // namespace

Check wholeNumber(int64_t low, int64_t high) {
    return [=](const std::string& text) -> std::string {
        int64_t value = 0;
        if (parse(text, value) && value >= low && value <= high)
            return {};
        if (high == std::numeric_limits<int64_t>::max())
            return fmt::format("`{}` is not a whole number from {} on", text, low);
        return fmt::format("`{}` is not a whole number from {} to {}", text, low, high);
    };
}

Check seconds(double high, bool zero) {
    return [=](const std::string& text) -> std::string {
        double value = 0;
        if (parse(text, value) && std::isfinite(value) && value <= high &&
            (zero ? value >= 0 : value > 0))
            return {};
        return fmt::format("`{}` is not a number of seconds {} {:g}", text,
                           zero ? "from 0 to" : "above 0 and up to", high);
    };
}

Check number(double low, double high) {
    return [=](const std::string& text) -> std::string {
        double value = 0;
        if (parse(text, value) && value >= low && value <= high)
            return {};
        return fmt::format("`{}` is not a number from {:g} to {:g}", text, low, high);
    };
}

Check threadCount() {
    constexpr int64_t most = 1024;
    return wholeNumber(0, most);
}

Check seedNumber() {
    return wholeNumber(0, std::numeric_limits<int64_t>::max());
}

std::string bytesOf(const std::string& text) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    int64_t number = 0, bytes = 0;
    const int64_t factor = factorOf(text.substr(digits));
    if (!parse(text.substr(0, digits), number) || factor == 0 ||
        __builtin_mul_overflow(number, factor, &bytes))
        return {};
    return std::to_string(bytes);
}

std::function<std::string(std::string& text)> size(int64_t least) {
    return [=](std::string& text) -> std::string {
        const std::string bytes = bytesOf(text);
        int64_t value = 0;
        if (!parse(bytes, value))
            return fmt::format("`{}` is no size: write e.g. 64MiB", text);
        if (value < least)
            return fmt::format("`{}` is less than {} bytes", text, least);
        text = bytes;
        return {};
    };
}

} // namespace fuselage::cli
