// SPDX-License-Identifier: Apache-2.0
// Kernels whose memory traffic is known by hand, for the tests of memory_counts.h. Argument 0 is
// global memory of 8 KiB.
#pragma once

namespace counted {

void sideBySide(void* const* a);         ///< each lane reads 16 bytes, side by side
void oneByte(void* const* a);            ///< each lane writes a byte of a sector of its own
void everyOther(void* const* a);         ///< words of 4 bytes with gaps of as many
void broadcast(void* const* a);          ///< all lanes read one word
void guardedRounds(void* const* a);      ///< lane 0 skips the first of two rounds
void columns(void* const* a);            ///< words of shared memory 32 words apart
void paddedColumns(void* const* a);      ///< 33 words apart
void vectors(void* const* a);            ///< 16 bytes a lane, side by side
void matrixRows(void* const* a);         ///< ldmatrix of rows of 128 bytes: all in the same banks
void matrixRowsSwizzled(void* const* a); ///< the same, swizzled
void copies(void* const* a);             ///< asynchronous, to shared memory side by side

} // namespace counted
