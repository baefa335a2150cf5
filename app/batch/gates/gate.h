// SPDX-License-Identifier: Apache-2.0
// Gates: limits on metrics, written in TOML or as conditions. What they say of two reports is in
// evaluate.h.
#pragma once

#include "app/batch/gates/quantity.h"
#include "core/support/result.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::batch {

struct Gate {
    enum class OnAmbiguous : uint8_t { Warn, Fail };

    std::string id;
    std::string metric;
    std::optional<Limit> maxIncrease, maxDecrease; ///< against the baseline
    std::optional<double> min, max;                ///< without one; of times seconds
    double minAbsolute = 0; ///< smaller changes do not count, whatever they are relatively
    int confirm = 2;        ///< of measured metrics: fresh processes that must agree
    bool warnOnly = false;
    OnAmbiguous onAmbiguous = OnAmbiguous::Warn;
    std::vector<std::string> models; ///< ids, or patterns of them (fitsId); empty: all
    /// Of a command line: where the number is not there it does not hold, so it fails.
    bool isCondition = false;
};

/// A pattern as of a shell, `*`, `?` and `[ab]`, fits a model's id, in which none of these can be.
/// The same wherever a person names models: gates, expectations, options of single models.
bool fitsId(const std::string& pattern, const std::string& id);

/// Otherwise it limits a number of the run alone.
bool comparesWithBaseline(const Gate& gate);

/// "+5 %", ">= 32", "<= 100 us": with the unit of the metric.
std::string limitText(const Gate& gate);

/// What `--fail-on regress` means where nobody wrote gates: launches and logical bytes may not
/// grow, e2e_us by 5 %.
std::vector<Gate> regressionGates();

/// The table [gate] of a TOML text, in the order of their lines. Errors: "usage.gate" with file and
/// line: no gate at all, unknown keys and metrics, a gate without a limit, a hash with one, a limit
/// that is no finite number from 0 on, a min above the max, a limit on the side that is better.
Result<std::vector<Gate>> parseGates(const std::string& text, const std::string& file);

/// expect.toml: [MODEL] with RULE = count; each becomes a gate "expect.RULE" with min = max. Errors
/// as above.
Result<std::vector<Gate>> parseExpectations(const std::string& text, const std::string& file);

/// "slower_matches > 0", "e2e_us > 20ms": a gate, named as it is written, that fails where this
/// holds, and where its metric has no number. Error "usage.gate".
Result<Gate> parseCondition(const std::string& text);

} // namespace fuselage::batch
