// SPDX-License-Identifier: Apache-2.0
// Samples in front of the judge: does the rule fire there, and do both sides compute the same?
// A rewrite's two graphs both run through the reference functions; a fuse rule's fused node runs
// through the kernels that `lower` makes of it.
#pragma once

#include "app/pipeline/prove/sample.h"

#include <string>

namespace fuselage::app {

struct Verdict {
    enum class Kind : uint8_t {
        Unfit, ///< the rule does not fire here, or the graph has no result to compare
        Agrees,
        Differs,
    };

    Kind kind = Kind::Unfit;
    std::string reason; ///< Unfit: why; Differs: where, with both values
    /// Unfit, since what the rewrite makes is of another type here: it is right for some shapes
    /// only.
    bool isPartial = false;
    bool isRefused = false; ///< Unfit, since the engine does not make the rewrite here
};

/// Relative error that the rule's `verify` or `numeric` clause allows.
double proofTolerance(const Rule& rule);

/// Of one rule, in front of many samples: what its search needs is made once.
class Judge {
public:
    explicit Judge(const Rule& rule);

    Verdict of(const Sample& sample, Progress& progress) const;

private:
    RuleSet m_alone;
    RuleIndex m_index;
};

} // namespace fuselage::app
