// SPDX-License-Identifier: Apache-2.0
// A graph generated from a rule's pattern, so that the rule may fire in it. Whether it does is for
// the real matcher to say: the generator aims, it does not decide.
#pragma once

#include "app/pipeline/prove/choices.h"
#include "app/pipeline/prove/contents.h"
#include "core/rewrite/matcher_index.h"
#include "core/support/progress.h"

#include <map>
#include <optional>
#include <string>

namespace fuselage::app {

/// What a guard could be written about: an attribute of an operator, a dimension, the contents or
/// the rank of a value, in the words of the rule's text.
struct Facts {
    std::map<std::string, double> numbers;    ///< "min(p)", "N", "rank(x)"
    std::map<std::string, std::string> texts; ///< "Softmax[axis]": "-1"
};

struct Sample {
    Graph graph; ///< prepared as a loaded model is
    Facts facts;
    Contents contents = Contents::Distinct;
    uint64_t inputSeed = 0;
    std::map<std::string, ValueRange> ranges; ///< of inputs, by name
};

/// None when the choices lead to no valid graph.
std::optional<Sample> generateSample(const PreparedRule& rule, Choices& choices,
                                     Progress& progress);

} // namespace fuselage::app
