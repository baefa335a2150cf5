// SPDX-License-Identifier: Apache-2.0
// Imports that know the embedded library and nothing else: no test reads rules from a disk by
// chance.
#pragma once

#include "core/support/result.h"
#include "patterns/embedded.h"

#include <string>

namespace fuselage::testing_support {

/// An ImportResolver (dsl/load.h).
inline Result<std::string> standardImport(const std::string& path) {
    if (auto text = embeddedPattern(path))
        return std::string(*text);
    return failure("import.missing", "there is no such standard file", path);
}

/// The same with one file, which imports nothing: for texts by the thousand, each of which would
/// read the whole library again for an `import "std/all"`.
inline Result<std::string> smallImport(const std::string& path) {
    if (path == "std/activation")
        return standardImport(path);
    return failure("import.missing", "there is no such standard file", path);
}

} // namespace fuselage::testing_support
