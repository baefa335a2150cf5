// SPDX-License-Identifier: Apache-2.0
// A coded reason why something was not done. Not an error: it is recorded in the Trace and answers
// "why not?". The matcher, the planner, the cost model and every backend use this one type.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fuselage {

/// One name with the value that decided, e.g. {"workspace", "12.9 MiB"}.
struct ReasonFact {
    std::string name;
    std::string value;

    friend bool operator==(const ReasonFact&, const ReasonFact&) = default;
};

struct Reason {
    std::string code;    ///< stable for CI: "M0305" (match) or "kind", "layout", "cost" (fusion)
    std::string message; ///< one sentence with the values on both sides
    std::string flip;    ///< the smallest change that would reverse it, empty when unknown
    std::vector<ReasonFact> facts;

    /// "code: message"
    std::string text() const { return code + ": " + message; }
};

} // namespace fuselage
