// SPDX-License-Identifier: Apache-2.0
// A placement as text (`.fuseplan`, first line `quantize 1`): one line for each read that goes
// through a QuantizeLinear/DequantizeLinear pair. Made by calibration or by hand; the conventions
// are those of app/pipeline/fuse_plan.h.
//
//     "/conv1/Conv"[0] INPUT: int8 entropy -2.64 .. 2.64 by ConvBNReLU "std/convolution":25
//     "/conv1/Conv"[1] W: int8 axis 0 minmax by ConvBNReLU "std/convolution":25
//     "/fc/Gemm"[0] INPUT: uint8 minmax 0 .. 6 by hand
//     "/fc/Gemm"[1] W: int4 axis 0 block 32 minmax by hand
#pragma once

#include "app/quantize/histogram.h"
#include "core/support/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::quantize {

/// One read, by names.
struct Pair {
    std::string node;
    uint32_t operand = 0;
    std::string point;
    StoredType type = StoredType::Int8;
    std::optional<int64_t> axis; ///< of a constant: one scale for each index along it
    int64_t block =
        0; ///< along the axis: one scale for so many indices of it, and for each of others
    RangeMethod method = RangeMethod::MinMax;
    /// None: of a constant from its own numbers, else from calibration.
    std::optional<Range> range;
    std::string rule, file; ///< who asked for it; empty: a person
    uint32_t ruleLine = 0;
    size_t line = 0;         ///< of the plan's text; 0: not read from one
    bool calibrated = false; ///< the range was taken from data in this run
};

struct PairPlan {
    std::string model;    ///< name of the graph; empty: of any
    size_t modelLine = 0; ///< that says so; 0: not read from a text
    std::string data;     ///< what ranges were taken from, for people
    /// Whether normalisations behind convolutions were folded into their weights before
    /// (fold_norm.h): names and weights are those of that graph.
    bool foldedNorm = true;
    /// Whether factors of channels were moved into weights (smooth.h), from `data`, and how
    /// strongly.
    std::optional<double> smooth;
    std::vector<Pair> pairs;
};

/// The file's text; the same plan gives the same bytes, and parsing gives the same numbers back.
std::string planText(const PairPlan& plan);

/// Errors, each with the line: "plan.syntax"; "plan.range", whose end is before its beginning;
/// "plan.twice", a read that has a line already.
Result<PairPlan> parsePairPlan(std::string_view text);

/// The same from a file; error "plan.read".
Result<PairPlan> readPairPlan(const std::string& path);

/// `"/conv1/Conv"[0] INPUT`, as a line begins.
std::string pairText(const Pair& pair);

} // namespace fuselage::quantize
