// SPDX-License-Identifier: Apache-2.0
// What products (matrix products, convolutions, attentions) take beside their bytes: FLOPs, and how
// their shapes suit tiles, vectors and the filters of a library.
#pragma once

#include "core/cost/cost.h"
#include "core/kernel/layout_work.h"

namespace fuselage {

struct ProductSeconds {
    double matrix = 0;
    double dram = 0, l2 = 0; ///< for more than the program's own bytes
};

/// Seconds on so many of the profile's units; smaller tiles fill more of them and use each less
/// well.
ProductSeconds productSeconds(const KernelProgram& program, const LaidWork& laid,
                              const Traffic& traffic, const DeviceProfile& profile, bool tf32,
                              double units);

/// How many more lanes work than a row of so many elements has: whole vectors do.
double lossOfLanes(int64_t elements, const DeviceProfile& profile);

/// Results of one row of a product, by group.
int64_t columnsOf(const Contraction& code);

/// Lane instructions of a multiply-add that runs on lanes; 0: the device multiplies in a better
/// way.
double laneProductPrice(const KernelProgram& program, const Work& work,
                        const DeviceProfile& profile);

/// How many times longer lanes work where a chain's blocks of rows, each with all columns, leave
/// some of so many units idle; 1 for programs that can be cut otherwise.
double unevenRows(const KernelProgram& program, double units);

/// What a program takes beside its work, on so many units: a processor's calls of its library for
/// each matrix of an attention; on a GPU until a product's first tile is there and its last one
/// written, or a row is folded.
double fixedSeconds(const KernelProgram& program, const DeviceProfile& profile, double units);

} // namespace fuselage
