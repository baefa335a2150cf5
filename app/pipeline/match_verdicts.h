// SPDX-License-Identifier: Apache-2.0
// Which kernels computed the nodes of a match before, which compute it now, and what measured times
// of single steps say about the two.
#pragma once

#include "app/pipeline/measure.h"
#include "app/pipeline/report.h"

#include <vector>

namespace fuselage::app {

/// Indices of kernels of a report.
struct KernelsOfMatch {
    struct Before {
        size_t kernel = 0;
        double part = 1; ///< of its time: a node that several matches hold, or that still runs by
                         ///< itself, was replaced only in part by each
    };

    std::vector<Before> before;
    std::vector<size_t> after;
    /// Copies before of nodes beside the match, which its kernels now read or write through strides
    /// (a Transpose, a Slice): part of what it replaced, though none of its nodes.
    std::vector<Before> absorbed;
    /// A launch of several fused nodes: nobody knows what each takes of it.
    bool shared = false;
    /// One of them does work of other nodes too (KernelReport::recomputed).
    bool divided = false; ///< a node of the file became several, of which other matches have some
    bool recomputes = false;
};

/// Parallel to the matches of the report.
std::vector<KernelsOfMatch> kernelsOfMatches(const Report& report);

/// Sets measured times and ratios of the matches, of the rounds in which steps were timed.
void judgeMatches(const Measured& measured, Report& report);

} // namespace fuselage::app
