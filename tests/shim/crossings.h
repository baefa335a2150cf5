// SPDX-License-Identifier: Apache-2.0
// Values that blocks pass to each other during a launch: whoever reads what another block wrote
// must come after it by tickets. The writer's thread fences, its block meets, one thread takes a
// ticket; the reader's block takes one of the same word later, that thread fences, and they meet.
// Fed by the instrumentation that also feeds races.cpp, for one stretch of memory.
#pragma once

#include <cstddef>

namespace simt::crossings {

/// A launch starts; bytes at `memory` are watched, a multiple of 4. 0 bytes: nothing is.
void startLaunch(const void* memory, size_t bytes);

/// A block of so many threads starts; those before it are done, in any order.
void startBlock(size_t threads);

/// All threads of the block met.
void barrier();

/// The running thread fences.
void fence();

/// The running thread adds to a word, which other blocks may do too; returns what it was.
unsigned take(unsigned* word, unsigned add);

/// The running thread touches memory; `place` is an address in the code.
void note(const void* address, size_t bytes, bool write, const void* place);

} // namespace simt::crossings
