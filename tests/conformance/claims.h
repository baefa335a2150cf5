// SPDX-License-Identifier: Apache-2.0
// The checked-in list of what Fuselage does not claim: lines "test GLOB  reason" or
// "op NAME  reason"; # starts a comment.
#pragma once

#include "core/support/result.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fuselage::conformance {

struct NotClaimed {
    bool isOp = false;
    std::string pattern; ///< of a test's name with shell wildcards, or an operator's name
    std::string reason;
    size_t uses = 0; ///< tests that it excused
};

class Claims {
public:
    static Result<Claims> read(const std::string& path);

    /// Why a test is not claimed; none when it is.
    std::optional<std::string> reasonAgainst(const std::string& test,
                                             const std::set<std::string>& ops);

    const std::vector<NotClaimed>& entries() const { return m_entries; }

private:
    std::vector<NotClaimed> m_entries;
};

} // namespace fuselage::conformance
