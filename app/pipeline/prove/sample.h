// SPDX-License-Identifier: Apache-2.0
// A graph generated from a rule's pattern, so that the rule may fire in it. Whether it does is for
// the real matcher to say: the generator aims, it does not decide.
#pragma once

#include "app/pipeline/prove/choices.h"
#include "app/pipeline/prove/contents.h"
#include "app/pipeline/prove/guard_terms.h"
#include "core/rewrite/matcher_index.h"
#include "core/support/progress.h"

#include <map>
#include <optional>
#include <span>
#include <string>

namespace fuselage::app {

/// The text of an attribute that a node does not have.
inline constexpr const char* noAttribute = "none";

/// What a guard could be written about: an attribute of an operator, or a term of a `where`, in the
/// words of the rule's text.
struct Facts {
    std::map<std::string, double> numbers;            ///< "min(p.value)", "N", "x.rank"
    std::map<std::string, std::string> texts;         ///< "Softmax[axis]": "-1"
    std::map<std::string, AttributeValue> attributes; ///< behind those of `texts` with a bracket
};

/// "Softmax[axis]", and no term of a `where` such as "C == w.shape[0]".
inline bool isAttributeFact(const std::string& name) {
    return name.back() == ']' && name.find(' ') == std::string::npos;
}

struct Sample {
    Graph graph; ///< prepared as a loaded model is
    Facts facts;
    Contents contents = Contents::Distinct;
    uint64_t inputSeed = 0;
    std::map<std::string, ValueRange> ranges; ///< of inputs, by name
    bool isAtEdge = false; ///< a literal's constant is as far from it as a match allows
};

/// None when the choices lead to no valid graph. `terms`: what to note as facts, besides
/// attributes.
std::optional<Sample> generateSample(const PreparedRule& rule, Choices& choices, Progress& progress,
                                     std::span<const GuardTerm> terms = {});

} // namespace fuselage::app
