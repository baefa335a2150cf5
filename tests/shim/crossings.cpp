// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/crossings.h"

#include "tests/shim/races.h"
#include "tests/shim/simt_internal.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace simt::crossings {

namespace {

/// Who wrote a word last.
struct Write {
    uint32_t block = 0; ///< from 1; 0: nobody in this launch
    uint32_t thread = 0;
    uint32_t fences = 0; ///< of that thread before the write
    const void* place = nullptr;
};

/// By word of tickets: how many fences of each thread of a block came before its ticket.
using Released = std::map<const void*, std::vector<uint32_t>>;

struct Thread {
    uint32_t fences = 0;
    std::set<const void*> taken; ///< tickets that no fence has followed yet
    std::set<const void*> after; ///< tickets that what it reads now comes after
};

struct Launch {
    uintptr_t memory = 0;
    std::vector<Write> words;
    std::vector<Released> blocks; ///< from 1
    std::vector<Thread> threads;  ///< of the running block
    std::vector<uint32_t> met;    ///< fences of each thread before the last meeting
};

Launch state;

/// What was written is there for a thread that comes after some of the writer's tickets.
bool ordered(const Write& write, const Thread& reader) {
    for (const auto& [word, fences] : state.blocks[write.block])
        if (reader.after.contains(word) && fences[write.thread] > write.fences)
            return true;
    return false;
}

[[noreturn]] void report(const Write& write, bool writes, const void* place) {
    const std::string text = "a race between blocks: thread " + std::to_string(write.thread) +
                             " of another one writes at " + races::placeText(write.place) +
                             ", thread " + std::to_string(currentThread()) +
                             (writes ? " writes at " : " reads at ") + races::placeText(place) +
                             ", without a fence, a ticket and a barrier between";
    stop(text.c_str(), 0);
}

} // namespace

void startLaunch(const void* memory, size_t bytes) {
    state = {};
    state.memory = reinterpret_cast<uintptr_t>(memory);
    state.words.resize(bytes / 4);
    state.blocks.resize(1);
}

void startBlock(size_t threads) {
    state.blocks.emplace_back();
    state.threads.assign(threads, {});
    state.met.assign(threads, 0);
}

void barrier() {
    std::set<const void*> after;
    for (const Thread& thread : state.threads)
        after.insert(thread.after.begin(), thread.after.end());
    for (size_t i = 0; i < state.threads.size(); ++i) {
        state.threads[i].after = after;
        state.met[i] = state.threads[i].fences;
    }
}

void fence() {
    Thread& self = state.threads[currentThread()];
    ++self.fences;
    self.after.merge(self.taken);
    self.taken.clear();
}

unsigned take(unsigned* word, unsigned add) {
    const size_t thread = currentThread();
    std::vector<uint32_t> fences = state.met;
    fences[thread] = state.threads[thread].fences;
    state.blocks.back()[word] = std::move(fences);
    state.threads[thread].taken.insert(word);
    const unsigned before = *word;
    *word = before + add;
    return before;
}

void note(const void* address, size_t bytes, bool write, const void* place) {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - state.memory;
    if (!running() || offset / 4 >= state.words.size())
        return;
    const auto self = static_cast<uint32_t>(state.blocks.size() - 1);
    const auto number = static_cast<uint32_t>(currentThread());
    const Thread& thread = state.threads[number];
    for (size_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
        Write& last = state.words.at(word);
        if (last.block != 0 && last.block != self && !ordered(last, thread))
            report(last, write, place);
        if (write)
            last = {self, number, thread.fences, place};
    }
}

} // namespace simt::crossings
