// SPDX-License-Identifier: Apache-2.0
// A locale of the process in which numbers have a comma, as a program's window toolkit may set it.
#pragma once

#include <clocale>
#include <string>

namespace fuselage {

/// One in which 0.5 is written 0,5, for as long as the object lives.
class LocaleWithCommas {
public:
    LocaleWithCommas() : m_before(std::setlocale(LC_NUMERIC, nullptr)) {
        for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8"})
            if (std::setlocale(LC_NUMERIC, name) != nullptr) {
                m_isThere = true;
                return;
            }
    }
    ~LocaleWithCommas() { std::setlocale(LC_NUMERIC, m_before.c_str()); }

    explicit operator bool() const { return m_isThere; }

private:
    std::string m_before;
    bool m_isThere = false;
};

} // namespace fuselage
