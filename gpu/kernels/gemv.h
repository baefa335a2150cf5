// SPDX-License-Identifier: Apache-2.0
// Few rows against a streamed weight: what gemv_split, whose rows lie in memory, and gemv_row,
// whose blocks make them in shared memory, have in common.
#pragma once

#include "gpu/kernels/contraction_view.h"

#include <optional>
#include <string>

namespace fuselage::gpu {

/// Rows that each block makes in shared memory, where they lie one behind the other, before it
/// multiplies them; the view calls them "rows". Then a block takes tile after tile of columns.
struct RowsInFront {
    std::string functions;
    std::string make;         ///< statements of all threads, which fill `rows`
    uint32_t sharedBytes = 0; ///< in front of the rows, for what makes them
    int64_t rowBytes = 0;     ///< of all rows
    int64_t blocks = 1;       ///< at most
    NumericClass numeric = NumericClass::Exact;
};

/// Of the device, or of one that is assumed.
double multiprocessorsOf(const KernelRequest& request);

/// Refuses more rows than come through the caches, and views without results.
std::optional<Reason> refuseRows(const ContractionView& view);

/// At most 8 rows of small floats; B is packed where it cannot be read in accesses of 16 bytes as
/// it lies. `front`: null where A lies in memory.
PartResult gemvPart(const KernelRequest& request, ContractionView& view, const RowsInFront* front);

} // namespace fuselage::gpu
