// SPDX-License-Identifier: Apache-2.0
// Values of options that are numbers: in range, or a message that quotes them. Given to CLI11 as
// checks, so that nothing is wrapped around, cut off or not a number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fuselage::cli {

/// "" when the text is fine, else what is wrong with it.
using Check = std::function<std::string(const std::string& text)>;

/// More is a mistake: a day.
constexpr double mostSeconds = 86400;

/// Digits with an optional sign, from `low` to `high`.
Check wholeNumber(int64_t low, int64_t high);

/// Not below 0 and no more than a double of `high` seconds; 0 only where `zero`.
Check seconds(double high, bool zero);

/// A finite number, from `low` to `high`.
Check number(double low, double high);

/// 0: all of this machine, up to 1024.
Check threadCount();

/// Any seed: 0 to 2^63 - 1.
Check seedNumber();

/// A size such as 64MiB, 8GB or 1024 as a number of bytes; empty when it is none.
std::string bytesOf(const std::string& text);

/// For CLI11's transform: replaces a size by its bytes. Not less than `least` bytes.
std::function<std::string(std::string& text)> size(int64_t least);

} // namespace fuselage::cli
