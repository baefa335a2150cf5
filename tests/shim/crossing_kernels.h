// SPDX-License-Identifier: Apache-2.0
// Kernels whose blocks pass values to each other, for the tests of crossings.h; a[0]: an int a
// thread, a[1]: an int a thread of each block, which is watched, a[2]: a word that is zero. Blocks
// of 64 threads.
#pragma once

namespace crossing {

// Ordered.
void lastBlockAddsAll(void* const* a);

// Races.
void readWithoutTicket(void* const* a);
void ticketBeforeTheWrite(void* const* a);
void ticketWithoutFence(void* const* a);
void ticketWithoutBarrier(void* const* a);
void readWithoutFence(void* const* a);
void readWithoutBarrier(void* const* a);
void overwriteOfAnotherBlocks(void* const* a);

} // namespace crossing
