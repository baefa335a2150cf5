// SPDX-License-Identifier: Apache-2.0
// What becomes of this program where there is no more memory, or less of a file than was mapped: an
// error in its own words and the exit code of that.
#include "app/cli/memory.h"

#include "app/cli/exit_codes.h"

#include <csignal>
#include <cstdlib>
#include <new>
#include <string_view>
#include <thread>
#include <unistd.h>

#ifdef FUSELAGE_MIMALLOC
#include <mimalloc.h>
#endif

namespace fuselage::cli {

namespace {

[[noreturn]] void endSaying(std::string_view text, ExitCode code) {
    (void)!::write(2, text.data(), text.size());
    std::_Exit(code);
}

std::thread::id firstThread;

/// A thread of a pool has nobody to throw to.
void withoutMemory() {
    if (std::this_thread::get_id() == firstThread)
        throw std::bad_alloc();
    endSaying("fuselage: not enough memory\n  fix: give smaller dimensions with --dim, or the "
              "process more memory\n",
              ExitResource);
}

void withoutPages(int) {
    endSaying("fuselage: a file of the model became shorter while it was read\n  fix: run this "
              "again when nothing writes the model and its data files\n",
              ExitInput);
}

} // namespace

void endInWords() {
    firstThread = std::this_thread::get_id();
    std::set_new_handler(withoutMemory);
    std::signal(SIGBUS, withoutPages);
}

} // namespace fuselage::cli

#ifdef FUSELAGE_MIMALLOC

namespace {

/// As the standard says it; mimalloc's own, where it was built as C, end the program.
template <typename Allocate> void* allocated(const Allocate& allocate) {
    void* out = allocate();
    while (!out) {
        const std::new_handler handler = std::get_new_handler();
        if (!handler)
            throw std::bad_alloc();
        handler();
        out = allocate();
    }
    return out;
}

} // namespace

void* operator new(size_t size) {
    return allocated([size] { return mi_malloc(size); });
}

void* operator new[](size_t size) {
    return allocated([size] { return mi_malloc(size); });
}

void* operator new(size_t size, std::align_val_t alignment) {
    return allocated([&] { return mi_malloc_aligned(size, static_cast<size_t>(alignment)); });
}

void* operator new[](size_t size, std::align_val_t alignment) {
    return allocated([&] { return mi_malloc_aligned(size, static_cast<size_t>(alignment)); });
}

#endif
