// SPDX-License-Identifier: Apache-2.0
// What the two halves of the stand-in for CUPTI know of each other: records of kernels, and
// counters.
#pragma once

namespace fakecuda {

bool recordsKernels();
bool countsRanges();

/// A kernel ran: for the counters' range that is open.
void countKernel();

/// Makes kernels that run known to both halves.
void observeKernels();

} // namespace fakecuda
