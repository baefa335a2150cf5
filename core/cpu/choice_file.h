// SPDX-License-Identifier: Apache-2.0
// What was measured of ways to compute, between processes: sorted text, one program a line, so that
// a diff can be read and a line removed by hand. Lines of other processors, other numbers of
// threads and other versions of the program stay as they are and serve nobody here.
#pragma once

#include "core/cpu/choice.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace fuselage::cpu {

/// "Intel(R) Xeon(R) Processor, x86-64-v4, 2 threads, fuselage 1": what a line must begin with to
/// count here.
std::string choiceMachine(const VectorTable& table, int threads);

/// Reads the lines of this machine into `choices`; gives the numbers of those that are damaged,
/// from 1. A missing file is an empty one. Errors "file.read", "cache.format" (the first line is
/// not of such a file).
Result<std::vector<size_t>> loadChoices(const std::string& path, const std::string& machine,
                                        Choices& choices);

/// Adds to what the file holds meanwhile and replaces it, under a lock beside it: processes that
/// write at the same time lose nothing. Errors "save.write", those of loadChoices().
Result<void> saveChoices(const std::string& path, const std::string& machine,
                         const Choices& choices);

} // namespace fuselage::cpu
