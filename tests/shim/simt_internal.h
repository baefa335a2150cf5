// SPDX-License-Identifier: Apache-2.0
// What the files of the scheduler share: the running thread, and how a mistake ends a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace simt {

constexpr size_t sharedLimit = size_t{228} << 10;

/// Number of the running thread in its block.
size_t currentThread();

/// A kernel runs; else accesses are of the test itself.
bool running();

/// A block of so many threads starts, or all of its threads are done; `early`: as of copies.
void startWarpgroups(size_t threads, bool early);
void endWarpgroups();

/// Barriers in shared memory and copies of boxes (tma.cpp), in the same way.
void startTma(size_t threads, bool early);
void endTma();
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
