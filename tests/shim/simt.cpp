// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/simt.h"

#include "tests/shim/crossings.h"
#include "tests/shim/memory_counts.h"
#include "tests/shim/races.h"
#include "tests/shim/simt_internal.h"
#include "tests/shim/simt_launch.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <ucontext.h>
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

namespace {

enum class State : uint8_t { Ready, AtBarrier, InWarp, ForSignal, Done };

/// A copy that was asked for; `group` when it was committed.
struct Copy {
    void* to;
    const void* from;
    int bytes;
    bool inside;
    size_t group;
    bool done; ///< early; its thread may still not rely on it
};

struct Fiber {
    ucontext_t context{};
    Index index;
    State state = State::Done;
    int line = 0;
    unsigned mask = 0;
    size_t warpCalls = 0;     ///< warp operations so far: parity picks the buffer
    std::vector<Copy> copies; ///< not done yet
    size_t groups = 0;        ///< closed so far
    bool waited = false;      ///< for the kernels before this one
};

struct Warp {
    uint64_t values[2][32] = {};
    alignas(8) uint32_t words[2][32 * 8] = {};
    unsigned arrived = 0;
    int line = 0;
    unsigned mask = 0;
};

/// The block that runs now.
struct Machine {
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::byte* stacks = nullptr;
    size_t stackCount = 0;
    ucontext_t scheduler{};
    size_t current = 0;
    size_t atBarrier = 0, done = 0;
    const Launch* launch = nullptr;
    bool open = true;     ///< Launch::gate
    bool survive = false; ///< mistakes end the launch, not the program
    Outcome outcome;
};

Machine machine;

} // namespace

size_t currentThread() {
    return machine.current;
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
    ++machine.done;
    if (machine.atBarrier > 0)
        stop("a thread leaves while others wait at a barrier", 0);
    setcontext(&machine.scheduler);
}

/// Back to the scheduler until another thread makes this one ready.
void wait(State state) {
    Fiber& self = machine.fibers[machine.current];
    self.state = state;
    swapcontext(&self.context, &machine.scheduler);
}

/// True for the lane that comes last.
bool meet(unsigned mask, int line) {
    counts::noteMeeting();
    const size_t first = machine.current / 32 * 32;
    Warp& warp = machine.warps[machine.current / 32];
    const unsigned lane = static_cast<unsigned>(machine.current % 32);
    if ((mask >> lane & 1) == 0)
        stop("a lane calls a warp operation without being in its mask", line);
    if (warp.arrived != 0 && (warp.mask != mask || warp.line != line))
        stop("lanes of a warp meet in different operations or with different masks", line);
    warp.mask = mask;
    warp.line = line;
    warp.arrived |= 1u << lane;
    for (unsigned other = 0; other < 32; ++other)
        if ((mask >> other & 1) != 0 && (first + other >= machine.fibers.size() ||
                                         machine.fibers[first + other].state == State::Done))
            stop("a warp operation waits for a lane that left", line);
    if (warp.arrived != mask) {
        wait(State::InWarp);
        return false;
    }
    warp.arrived = 0;
    for (unsigned other = 0; other < 32; ++other)
        if ((mask >> other & 1) != 0)
            machine.fibers[first + other].state = State::Ready;
    return true;
}

void startFiber(size_t i, const Launch& launch) {
    Fiber& fiber = machine.fibers[i];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = machine.stacks + i * stackBytes;
    fiber.context.uc_stack.ss_size = stackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiberMain, 0);
    const auto n = static_cast<unsigned>(i);
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
    machine.done = machine.atBarrier = 0;
    races::startBlock(machine.fibers.size());
    crossings::startBlock(machine.fibers.size());
    counts::startBlock();
    startWarpgroups(machine.fibers.size(), launch.earlyCopies);
    startTma(machine.fibers.size(), launch.earlyCopies);
    std::memset(sharedMemory, 0xff, launch.sharedBytes);
    std::memset(sharedMemory + launch.sharedBytes, sharedMargin, 128);
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

void runBlock(const Launch& launch) {
    startBlock(launch);
    while (machine.done < machine.fibers.size()) {
        bool progress = false;
        for (size_t i = 0; i < machine.fibers.size(); ++i) {
            Fiber& fiber = machine.fibers[i];
            if (fiber.state == State::ForSignal && barrierOpens(i))
                fiber.state = State::Ready;
            if (fiber.state != State::Ready)
                continue;
            progress = true;
            machine.current = i;
            thread = fiber.index;
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
    for (size_t i = 0; i < 128; ++i)
        if (sharedMemory[launch.sharedBytes + i] != sharedMargin)
            stop("a write behind the shared memory", 0);
}

void runBlocks(const Launch& launch) {
    crossings::startLaunch(launch.passed, launch.passedBytes);
    const size_t blocks = size_t{gridSize.x} * gridSize.y * gridSize.z;
    for (size_t i = 0; i < blocks && machine.outcome.ok(); ++i) {
        const size_t number = launch.lastBlockFirst ? blocks - 1 - i : i;
        block.x = static_cast<unsigned>(number % gridSize.x);
        block.y = static_cast<unsigned>(number / gridSize.x % gridSize.y);
        block.z = static_cast<unsigned>(number / gridSize.x / gridSize.y);
        runBlock(launch);
    }
    setGate(true);
}

} // namespace

void barrier(int line) {
    Fiber& self = machine.fibers[machine.current];
    self.line = line;
    counts::noteMeeting();
    if (machine.done > 0)
        stop("a barrier after a thread has left", line);
    ++machine.atBarrier;
    for (const Fiber& other : machine.fibers)
        if (other.state == State::AtBarrier && other.line != line)
            stop("threads of a block wait at different barriers", line);
    if (machine.atBarrier < machine.fibers.size())
        return wait(State::AtBarrier);
    machine.atBarrier = 0;
    counts::settle(machine.fibers.size());
    races::barrier();
    crossings::barrier();
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

void syncWarp(int line) {
    if (meet(0xffffffffU, line))
        races::syncWarp(machine.current / 32);
}

uint64_t shuffle(unsigned mask, uint64_t bits, unsigned source, int line) {
    Fiber& self = machine.fibers[machine.current];
    const size_t buffer = self.warpCalls++ % 2;
    Warp& warp = machine.warps[machine.current / 32];
    warp.values[buffer][machine.current % 32] = bits;
    if (source >= 32 || (mask >> source & 1) == 0)
        stop("a shuffle reads a lane outside of its mask", line);
    meet(mask, line);
    return warp.values[buffer][source];
}

unsigned ballot(unsigned mask, bool vote, int line) {
    Fiber& self = machine.fibers[machine.current];
    const size_t buffer = self.warpCalls++ % 2;
    Warp& warp = machine.warps[machine.current / 32];
    warp.values[buffer][machine.current % 32] = vote ? 1 : 0;
    meet(mask, line);
    unsigned out = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        if ((mask >> lane & 1) != 0 && warp.values[buffer][lane] != 0)
            out |= 1u << lane;
    return out;
}

const uint32_t* gather(const uint32_t* words, int count) {
    Fiber& self = machine.fibers[machine.current];
    const size_t buffer = self.warpCalls++ % 2;
    Warp& warp = machine.warps[machine.current / 32];
    std::memcpy(warp.words[buffer] + machine.current % 32 * static_cast<size_t>(count), words,
                static_cast<size_t>(count) * sizeof *words);
    meet(0xffffffffu, -count);
    return warp.words[buffer];
}

namespace {

void perform(const Copy& copy) {
    if (copy.inside)
        std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    else
        std::memset(copy.to, 0, static_cast<size_t>(copy.bytes));
}

} // namespace

void copyLater(void* to, const void* from, int bytes, bool inside) {
    Fiber& self = machine.fibers[machine.current];
    const Copy copy{to, from, bytes, inside, self.groups, machine.launch->earlyCopies};
    const void* const place = __builtin_return_address(0);
    races::beginCopy(to, static_cast<size_t>(bytes), place);
    counts::noteCopy(to, from, static_cast<size_t>(bytes), inside, place);
    if (copy.done)
        perform(copy);
    self.copies.push_back(copy);
}

void commitCopies() {
    ++machine.fibers[machine.current].groups;
}

void waitCopies(int pending) {
    Fiber& self = machine.fibers[machine.current];
    size_t done = 0;
    while (done < self.copies.size() &&
           self.copies[done].group + static_cast<size_t>(pending) < self.groups) {
        const Copy& copy = self.copies[done++];
        if (!copy.done)
            perform(copy);
        races::endCopy(copy.to, static_cast<size_t>(copy.bytes));
    }
    self.copies.erase(self.copies.begin(), self.copies.begin() + static_cast<ptrdiff_t>(done));
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
    const size_t threads = size_t{launch.block[0]} * launch.block[1] * launch.block[2];
    if (launch.sharedBytes > sharedLimit || threads == 0 || threads > 1024)
        stop("a launch that no device accepts", 0);
    if (machine.stackCount < threads) {
        if (machine.stacks != nullptr)
            munmap(machine.stacks, machine.stackCount * stackBytes);
        machine.stacks =
            static_cast<std::byte*>(mmap(nullptr, threads * stackBytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        machine.stackCount = threads;
    }
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

GuardedMemory::GuardedMemory(size_t bytes)
    : m_page(static_cast<size_t>(sysconf(_SC_PAGESIZE))), m_bytes(bytes) {
    const size_t inner = (bytes + 16 + m_page - 1) / m_page * m_page;
    m_mapped = inner + 2 * m_page;
    m_pages = static_cast<std::byte*>(
        mmap(nullptr, m_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (m_pages == MAP_FAILED)
        std::abort();
    mprotect(m_pages, m_page, PROT_NONE);
    mprotect(m_pages + m_page + inner, m_page, PROT_NONE);
    std::memset(m_pages + m_page, 0xff, inner);
    m_data = m_pages + m_page + inner - (bytes + 15) / 16 * 16;
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : m_pages(other.m_pages), m_mapped(other.m_mapped), m_page(other.m_page),
      m_bytes(other.m_bytes), m_data(other.m_data) {
    other.m_pages = nullptr;
}

GuardedMemory::~GuardedMemory() {
    if (m_pages != nullptr)
        munmap(m_pages, m_mapped);
}

void GuardedMemory::setOpen(bool open) const {
    mprotect(m_pages + m_page, m_mapped - 2 * m_page, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

bool GuardedMemory::intact() const {
    for (const std::byte* at = m_pages + m_page; at < m_data; ++at)
        if (*at != std::byte{0xff})
            return false;
    for (const std::byte* at = m_data + m_bytes; at < m_pages + m_mapped - m_page; ++at)
        if (*at != std::byte{0xff})
            return false;
    return true;
}

} // namespace simt
