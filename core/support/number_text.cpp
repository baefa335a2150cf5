// SPDX-License-Identifier: Apache-2.0
#include "core/support/number_text.h"

#include <cstdlib>
#include <locale.h> // NOLINT(modernize-deprecated-headers): locale_t is POSIX's

namespace fuselage {

namespace {

locale_t plainLocale() {
    static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
}

} // namespace

double numberIn(const std::string& text, const char** end) {
    char* rest = nullptr;
    const double number = ::strtod_l(text.c_str(), &rest, plainLocale());
    if (end != nullptr)
        *end = rest;
    return number;
}

PlainNumbers::PlainNumbers() : m_before(::uselocale(plainLocale())) {}

PlainNumbers::~PlainNumbers() {
    ::uselocale(static_cast<locale_t>(m_before));
}

float floatIn(const std::string& text) {
    return ::strtof_l(text.c_str(), nullptr, plainLocale());
}

} // namespace fuselage
