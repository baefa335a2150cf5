// SPDX-License-Identifier: Apache-2.0
// What a pair of QuantizeLinear and DequantizeLinear opens and blocks in a fused model, as plain
// data; pair_effects.h fills it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace fuselage::app {

/// A node of the model that reads what a pair gives back.
struct PairReader {
    std::string node;
    std::string rule; ///< of the fused node that has both; empty: none
    std::string
        kernel; ///< that reads the stored numbers for it: "Contraction of int8"; empty: none
    std::string lacks = {}; ///< why none does, where that is known; empty with a kernel
};

struct PairReport {
    std::string store; ///< the QuantizeLinear; empty: a constant is stored, or an input comes so
    std::string load;  ///< the DequantizeLinear
    std::string value; ///< what is stored, by the name it has in float or as a constant
    std::string type;  ///< "int8"
    std::string scale; ///< "0.02", "64 along axis 0"; "computed"
    std::string range; ///< that can be stored: "-2.54 .. 2.54"
    std::vector<PairReader> readers;
    int64_t reformatBytes = 0; ///< logical, of kernels that only convert, one way or the other
    /// The rule that would have nodes on both sides of the pair, were it not there, and which.
    std::string blockedRule;
    std::vector<std::string> blockedNodes;

    /// A kernel that computes reads the stored numbers.
    bool opens() const {
        return std::any_of(readers.begin(), readers.end(),
                           [](const PairReader& reader) { return !reader.kernel.empty(); });
    }
};

/// What is amiss with the pair at a node, in the words of a lint.
struct PairRemark {
    std::string node;
    std::string code;    ///< "pair-wrong-axis"
    std::string message; ///< one sentence
    std::string fix;     ///< what to change in the model
    bool isAdvice;       ///< as right as what it advises, which the library does when it fuses
};

} // namespace fuselage::app
