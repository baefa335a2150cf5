// SPDX-License-Identifier: Apache-2.0
// What a fuzz target is: one function over any bytes, in libFuzzer's form, that stops the process
// when a promise is broken. Driven by libFuzzer, or by driver.cpp as an ordinary test.
#pragma once

#include "core/support/result.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace fuselage::fuzz {

inline std::string textOf(const uint8_t* data, size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// Stops with the words of the broken promise; `shown` is what they are about.
inline void promise(bool kept, const char* words, const std::string& shown = {}) {
    if (kept)
        return;
    std::fprintf(stderr, "broken promise: %s\n%s\n", words, shown.c_str());
    std::abort();
}

/// The same for something that must not fail; its error is shown.
template <typename T> void promise(const Result<T>& result, const char* words) {
    promise(static_cast<bool>(result), words, result ? "" : result.error().text());
}

} // namespace fuselage::fuzz
