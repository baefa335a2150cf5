// SPDX-License-Identifier: Apache-2.0
// Kernels for the tests of early launches: what they do before they have waited for the kernels
// before them. a[0]: an int a thread, written; a[1]: the same, which a kernel before them writes;
// a[2]: constants. Blocks of 64 threads.
#pragma once

namespace early {

// As it should be.
void waitsFirst(void* const* a);
void readsConstantsBefore(void* const* a);
void meetsBefore(void* const* a);

// Mistakes.
void neverWaits(void* const* a);
void oneThreadLeaves(void* const* a);
void readsBefore(void* const* a);
void writesBefore(void* const* a);
void lastThreadReadsBefore(void* const* a);
void copiesBefore(void* const* a);
void takesATicketBefore(void* const* a);

} // namespace early
