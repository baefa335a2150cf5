// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/early_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace fuselage::gpu {

namespace {

// An instruction has 16 bytes; the lowest 9 bits name it, four name its condition.
constexpr size_t instructionBytes = 16;
constexpr uint64_t waitForKernels = 0x02e; ///< ACQBULK
constexpr uint64_t always = 7;

/// What may stand before the wait.
constexpr uint64_t harmless[] = {
    0x0b9, // ULDC: constant memory, where parameters lie
    0x1ac, // LDCU: the same from sm_100 on
    0x182, // LDC
    0x119, // S2R: numbers of the thread
};

template <typename T> T read(std::string_view bytes, size_t at) {
    T out = 0;
    if (at <= bytes.size() && bytes.size() - at >= sizeof out)
        std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
}

bool isMachineCode(std::string_view elf) {
    constexpr uint16_t cuda = 190;
    return elf.starts_with("\x7f"
                           "ELF") &&
           read<uint16_t>(elf, 0x12) == cuda;
}

/// The section ".text.<kernel>"; empty: there is none.
std::string_view codeOf(std::string_view elf) {
    const auto headers = read<uint64_t>(elf, 0x28);
    const size_t size = read<uint16_t>(elf, 0x3a), count = read<uint16_t>(elf, 0x3c);
    const auto names = read<uint64_t>(elf, headers + size * read<uint16_t>(elf, 0x3e) + 0x18);
    for (size_t i = 0; i < count; ++i) {
        const size_t header = headers + size * i;
        const size_t name = names + read<uint32_t>(elf, header);
        const auto at = read<uint64_t>(elf, header + 0x18),
                   bytes = read<uint64_t>(elf, header + 0x20);
        if (name < elf.size() && elf.substr(name).starts_with(".text.") && at <= elf.size() &&
            bytes <= elf.size() - at)
            return elf.substr(at, bytes);
    }
    return {};
}

} // namespace

std::string whyNotEarly(std::string_view cubin) {
    if (!isMachineCode(cubin))
        return {};
    const std::string_view code = codeOf(cubin);
    for (size_t at = 0; at + instructionBytes <= code.size(); at += instructionBytes) {
        const auto instruction = read<uint64_t>(code, at);
        const uint64_t name = instruction & 0x1ff, condition = instruction >> 12 & 0xf;
        if (name == waitForKernels)
            return condition == always ? "" : "it waits under a condition";
        if (std::find(std::begin(harmless), std::end(harmless), name) == std::end(harmless))
            return fmt::format("instruction {:#05x} stands before a wait", name);
    }
    return "it does not wait";
}

} // namespace fuselage::gpu
