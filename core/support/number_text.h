// SPDX-License-Identifier: Apache-2.0
// Numbers in texts of files. std::strtod and its kin read them by the locale of the process, and a
// window's toolkit sets that to the person's, where 0.5 may be written 0,5.
#pragma once

#include <string>

namespace fuselage {

/// What std::strtod reads in the "C" locale: 0.5, 1e-5, 0x1.8p+1, -inf. `end`: behind the number.
double numberIn(const std::string& text, const char** end = nullptr);

/// The nearest float32, rounded once.
float floatIn(const std::string& text);

/// While it lives, functions of other libraries that this thread calls read and write numbers in
/// the "C" locale. Ends in the thread that made it.
class PlainNumbers {
public:
    PlainNumbers();
    ~PlainNumbers();
    PlainNumbers(const PlainNumbers&) = delete;
    PlainNumbers& operator=(const PlainNumbers&) = delete;

private:
    void* m_before; ///< a locale_t
};

} // namespace fuselage
