// SPDX-License-Identifier: Apache-2.0
// What takes longer than a key press: the lints that need graphs, and the proof of each rule, on a
// thread of its own. Only the newest texts count; verdicts of rules whose text stays are kept.
#pragma once

#include "core/support/diagnostic.h"
#include "dsl/load.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::lsp {

/// Texts that are loaded together, and what was found in them.
struct CheckedRules {
    std::unique_ptr<SourceSet> sources;
    Diagnostics diagnostics;                     ///< spans point into `sources`
    std::map<std::string, std::string> verdicts; ///< "equal over the reals", by rule
};

class RuleChecker {
public:
    RuleChecker();
    ~RuleChecker();

    /// Checks these texts next; `resolver` is called on the other thread.
    void update(const std::string& group, std::vector<dsl::RuleInput> texts,
                dsl::ImportResolver resolver);

    /// Whether something is being checked or was and has not been taken.
    bool isBusy() const;

    /// Once, when a group's newest texts are checked: its name and what was found.
    std::optional<std::pair<std::string, std::shared_ptr<const CheckedRules>>> take();

private:
    struct State;

    std::unique_ptr<State> m_state;
};

} // namespace fuselage::lsp
