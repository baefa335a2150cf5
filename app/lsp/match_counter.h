// SPDX-License-Identifier: Apache-2.0
// How often each rule matches one model, counted on a thread of its own while a person types: only
// the newest texts count, older work is dropped. The model is read once.
#pragma once

#include "dsl/load.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace fuselage::lsp {

class MatchCounter {
public:
    /// Starts to read the model.
    explicit MatchCounter(std::string modelPath);
    ~MatchCounter();

    /// Counts the rules of these texts next; `resolver` is called on the other thread.
    void update(std::vector<dsl::RuleInput> texts, dsl::ImportResolver resolver);

    /// One line about the rule as it stands in the newest texts: its matches, that they are being
    /// counted, or why they cannot be. Of a rule without matches: where it came nearest, which may
    /// take a moment for the first time.
    std::string describe(const std::string& rule) const;

    /// The matches of the newest texts' rule; nothing while they are being counted.
    std::optional<uint64_t> matches(const std::string& rule) const;

private:
    struct State;

    std::unique_ptr<State> m_state;
};

} // namespace fuselage::lsp
