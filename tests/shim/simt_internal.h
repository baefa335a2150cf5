// SPDX-License-Identifier: Apache-2.0
// What the files of the scheduler share: the running thread, and how a mistake ends a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace simt {

constexpr size_t sharedLimit = size_t{228} << 10;
constexpr size_t mostThreads = 1024; ///< of a cluster

/// Number of the running thread in its cluster, whose blocks, the ranks, are numbered through: 0 to
/// 1023. Without clusters that is its number in the block.
size_t currentThread();

/// Of how many blocks a cluster is, and in which of them the running thread is.
size_t clusterBlocks();
size_t currentRank();

/// Shared memory of a rank: `sharedMemory` for the running thread's own.
unsigned char* sharedOf(size_t rank);

/// A kernel runs; else accesses are of the test itself.
bool running();

/// A cluster of so many threads starts, or all of its threads are done; `early`: as of copies.
void startWarpgroups(size_t threads, bool early);
void endWarpgroups();

/// Barriers in shared memory and copies of boxes (tma.cpp), in the same way.
void startTma(size_t threads, bool early);
void endTma();
/// The running thread ends.
void leaveTma();
/// Lets a late copy land; false when there is none.
bool landCopy();
/// Whether what a thread that called waitForSignal() waits for is there; and it in words.
bool barrierOpens(size_t thread);
std::string waitText(size_t thread);
/// The running thread waits; it returns when barrierOpens().
void waitForSignal();

/// Ends the launch with a message; `line` of the suite, 0: not known.
[[noreturn]] void stop(const char* what, int line);

} // namespace simt
