// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/simt.h"

#include "tests/shim/crossings.h"
#include "tests/shim/memory_counts.h"
#include "tests/shim/races.h"
#include "tests/shim/simt_internal.h"
#include "tests/shim/simt_machine.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

constexpr size_t stackBytes = size_t{64} << 10;
constexpr unsigned char sharedMargin = 0xa5;

} // namespace

alignas(1024) unsigned char sharedMemory[simt::sharedLimit + 128];

namespace simt {

Index thread, block, blockSize, gridSize;

Machine machine;

size_t currentThread() {
    return machine.current;
}

size_t clusterBlocks() {
    return machine.ranks.size();
}

size_t currentRank() {
    return machine.current / machine.threads;
}

unsigned char* sharedOf(size_t rank) {
    return rank == machine.inPlace ? sharedMemory : machine.ranks[rank].shared.data();
}

bool running() {
    return machine.launch != nullptr;
}

[[noreturn]] void stop(const char* what, int line) {
    const std::string where = line == 0 ? "" : " (line " + std::to_string(line) + " of the suite)";
    const std::string text = machine.launch->name + ": " + what + where + ", block " +
                             std::to_string(block.x) + " thread " + std::to_string(thread.x);
    if (machine.survive) {
        machine.outcome.message = text;
        setcontext(&machine.scheduler);
    }
    std::fprintf(stderr, "%s\n", text.c_str());
    std::abort();
}

void wait(State state) {
    Fiber& self = machine.fibers[machine.current];
    self.state = state;
    swapcontext(&self.context, &machine.scheduler);
}

namespace {

/// Where the instruction that faults stands, as far as it can be known.
std::string placeOf(const void* context) {
#ifdef __x86_64__
    const auto at = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    return " at " + races::placeText(reinterpret_cast<const void*>(at + 1));
#else
    return (void)context, std::string();
#endif
}

void onFault(int signal, siginfo_t*, void* context) {
    if (machine.launch == nullptr) { // not a kernel's
        std::signal(signal, SIG_DFL);
        return;
    }
    if (machine.survive) {
        machine.outcome.fault = true;
        if (!machine.open)
            stop(("memory that kernels before this one may write is touched without having waited "
                  "for them" +
                  placeOf(context))
                     .c_str(),
                 0);
        stop("an access outside of the operands", 0);
    }
    // Only what is safe in a handler.
    static const char text[] = "access outside of the operands in kernel ";
    if (machine.launch != nullptr) {
        (void)!write(2, text, sizeof text - 1);
        (void)!write(2, machine.launch->name.c_str(), machine.launch->name.size());
        (void)!write(2, "\n", 1);
    }
    _exit(70);
}

void installHandler() {
    static bool done = false;
    if (done)
        return;
    done = true;
    struct sigaction action {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

void fiberMain() {
    machine.launch->entry(machine.launch->arguments);
    Fiber& self = machine.fibers[machine.current];
    if (machine.launch->gate && !self.waited)
        stop("a thread ends without having waited for the kernels before this one", 0);
    self.state = State::Done;
    Rank& rank = machine.ranks[currentRank()];
    ++rank.done;
    if (rank.atBarrier > 0 || machine.atCluster > 0)
        stop("a thread leaves while others wait at a barrier", 0);
    leaveTma();
    setcontext(&machine.scheduler);
}

void startFiber(size_t i, const Launch& launch) {
    Fiber& fiber = machine.fibers[i];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = machine.stacks + i * stackBytes;
    fiber.context.uc_stack.ss_size = stackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiberMain, 0);
    const auto n = static_cast<unsigned>(i % machine.threads);
    fiber.index = {n % launch.block[0], n / launch.block[0] % launch.block[1],
                   n / launch.block[0] / launch.block[1]};
    fiber.state = State::Ready;
    fiber.warpCalls = 0;
    fiber.copies.clear();
    fiber.groups = 0;
    fiber.waited = false;
}

void setGate(bool open) {
    if (machine.launch->gate && open != machine.open)
        machine.launch->gate(machine.open = open);
}

void startBlock(const Launch& launch) {
    for (size_t i = 0; i < machine.fibers.size(); ++i)
        startFiber(i, launch);
    for (Warp& warp : machine.warps)
        warp = {};
    machine.atCluster = machine.inPlace = 0;
    races::startBlock(machine.threads, machine.ranks.size());
    crossings::startBlock(machine.fibers.size());
    counts::startBlock();
    startWarpgroups(machine.fibers.size(), launch.earlyCopies);
    startTma(machine.fibers.size(), launch.earlyCopies);
    std::memset(sharedMemory, 0xff, launch.sharedBytes);
    std::memset(sharedMemory + launch.sharedBytes, sharedMargin, 128);
    for (Rank& rank : machine.ranks) {
        rank = {};
        if (machine.ranks.size() > 1)
            rank.shared.assign(sharedMemory, sharedMemory + launch.sharedBytes + 128);
    }
}

/// The thread's block is the one whose shared memory is in place.
void place(size_t number, size_t firstBlock) {
    machine.current = number;
    thread = machine.fibers[number].index;
    const size_t rank = currentRank(), was = machine.inPlace, at = firstBlock + rank;
    block.x = static_cast<unsigned>(at % gridSize.x);
    block.y = static_cast<unsigned>(at / gridSize.x % gridSize.y);
    block.z = static_cast<unsigned>(at / gridSize.x / gridSize.y);
    if (rank == was)
        return;
    std::vector<unsigned char>&from = machine.ranks[rank].shared, &to = machine.ranks[was].shared;
    std::memcpy(to.data(), sharedMemory, to.size());
    std::memcpy(sharedMemory, from.data(), from.size());
    machine.inPlace = rank;
}

/// All threads of all ranks are done.
bool allDone() {
    return std::all_of(machine.ranks.begin(), machine.ranks.end(),
                       [](const Rank& rank) { return rank.done == machine.threads; });
}

[[noreturn]] void stopForever() {
    std::string text = "the threads of a block wait for each other", waits;
    for (size_t i = 0; i < machine.fibers.size(); ++i)
        if (machine.fibers[i].state == State::ForSignal)
            if (const std::string wait = waitText(i); waits.find(wait) == std::string::npos)
                waits += (waits.empty() ? ": thread " : "; thread ") + std::to_string(i) + wait;
    text += waits;
    stop(text.c_str(), waits.empty() ? machine.fibers[0].line : 0);
}

/// One block, or a cluster of them: the order of launch.lastBlockFirst is theirs too.
void runBlock(const Launch& launch, size_t firstBlock) {
    startBlock(launch);
    const size_t all = machine.fibers.size();
    while (!allDone()) {
        bool progress = false;
        for (size_t n = 0; n < all; ++n) {
            const size_t i =
                launch.lastBlockFirst
                    ? (all - 1 - n) / machine.threads * machine.threads + n % machine.threads
                    : n;
            Fiber& fiber = machine.fibers[i];
            if (fiber.state == State::ForSignal && barrierOpens(i))
                fiber.state = State::Ready;
            if (fiber.state != State::Ready)
                continue;
            progress = true;
            place(i, firstBlock);
            setGate(fiber.waited);
            swapcontext(&machine.scheduler, &fiber.context);
            if (!machine.outcome.ok())
                return;
        }
        if (!progress && !landCopy())
            stopForever();
    }
    endWarpgroups();
    endTma();
    counts::settle(machine.fibers.size());
    for (size_t rank = 0; rank < machine.ranks.size(); ++rank)
        for (size_t i = 0; i < 128; ++i)
            if (sharedOf(rank)[launch.sharedBytes + i] != sharedMargin)
                stop("a write behind the shared memory", 0);
}

void runBlocks(const Launch& launch) {
    crossings::startLaunch(launch.passed, launch.passedBytes);
    const size_t together = launch.clusterBlocks;
    const size_t clusters = size_t{gridSize.x} * gridSize.y * gridSize.z / together;
    for (size_t i = 0; i < clusters && machine.outcome.ok(); ++i)
        runBlock(launch, (launch.lastBlockFirst ? clusters - 1 - i : i) * together);
    setGate(true);
}

} // namespace

void barrier(int line) {
    Fiber& self = machine.fibers[machine.current];
    self.line = line;
    counts::noteMeeting();
    Rank& rank = machine.ranks[currentRank()];
    if (rank.done > 0)
        stop("a barrier after a thread has left", line);
    ++rank.atBarrier;
    const auto first =
        machine.fibers.begin() + static_cast<ptrdiff_t>(currentRank() * machine.threads);
    const std::span<Fiber> all(first, machine.threads);
    for (const Fiber& other : all)
        if (other.state == State::AtBarrier && other.line != line)
            stop("threads of a block wait at different barriers", line);
    if (rank.atBarrier < all.size())
        return wait(State::AtBarrier);
    rank.atBarrier = 0;
    if (machine.ranks.size() == 1) // else others are in the middle of something
        counts::settle(all.size());
    races::barrier();
    crossings::barrier();
    for (Fiber& other : all)
        other.state = State::Ready;
}

void meetCluster() {
    counts::noteMeeting();
    for (const Rank& rank : machine.ranks)
        if (rank.done > 0)
            stop("a barrier of a cluster after a thread has left", 0);
    if (++machine.atCluster < machine.fibers.size())
        return wait(State::AtCluster);
    machine.atCluster = 0;
    counts::settle(machine.fibers.size());
    races::meetCluster();
    for (Fiber& other : machine.fibers)
        other.state = State::Ready;
}

/// Its first return is to the scheduler, so that the others come to it with the gate still closed.
void waitForKernelsBefore() {
    Fiber& self = machine.fibers[machine.current];
    if (machine.launch->gate && !std::exchange(self.waited, true))
        wait(State::Ready);
}

void fence() {
    crossings::fence();
}

unsigned addToWord(unsigned* word, unsigned add) {
    checkAlignment(word, 4);
    return crossings::take(word, add);
}

void waitForSignal() {
    wait(State::ForSignal);
}

void checkAlignment(const void* address, int bytes) {
    if (reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(bytes) != 0)
        stop("an access is not aligned to its size", 0);
    counts::noteVector(address, static_cast<size_t>(bytes));
}

void noteRows(const void* mine, const void* const* all) {
    counts::noteRows(mine, all, __builtin_return_address(0));
}

void run(const Launch& launch) {
    installHandler();
    machine.launch = &launch;
    const size_t perBlock = size_t{launch.block[0]} * launch.block[1] * launch.block[2];
    const size_t threads = perBlock * launch.clusterBlocks;
    if (launch.sharedBytes > sharedLimit || perBlock == 0 || perBlock > 1024 || threads == 0 ||
        launch.grid[0] % launch.clusterBlocks != 0)
        stop("a launch that no device accepts", 0);
    if (threads > mostThreads || (launch.clusterBlocks > 1 && perBlock % 32 != 0) ||
        (launch.clusterBlocks > 1 && launch.passed != nullptr))
        stop("a cluster that is not modelled", 0);
    if (machine.stackCount < threads) {
        if (machine.stacks != nullptr)
            munmap(machine.stacks, machine.stackCount * stackBytes);
        machine.stacks =
            static_cast<std::byte*>(mmap(nullptr, threads * stackBytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        machine.stackCount = threads;
    }
    machine.threads = perBlock;
    machine.ranks.assign(launch.clusterBlocks, {});
    machine.fibers.assign(threads, {});
    machine.warps.assign((threads + 31) / 32, {});
    blockSize = {launch.block[0], launch.block[1], launch.block[2]};
    gridSize = {launch.grid[0], launch.grid[1], launch.grid[2]};
    runBlocks(launch);
    block = {};
    machine.launch = nullptr;
}

Outcome tryRun(const Launch& launch) {
    machine.survive = true;
    machine.outcome = {};
    // Mistakes outside of the threads come back here; those of a thread to where it was resumed.
    if (getcontext(&machine.scheduler) == 0 && machine.outcome.ok())
        run(launch);
    if (machine.launch != nullptr)
        setGate(true);
    machine.survive = false;
    machine.launch = nullptr;
    return std::exchange(machine.outcome, {});
}

} // namespace simt
