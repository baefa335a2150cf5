// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_compile/machine_code.h"

#include <cstring>
#include <string_view>

namespace fuselage::machine_code {

namespace {

constexpr size_t instructionBytes = 16;

/// Lowest 9 bits; the 3 above say where operands come from.
enum Opcode : uint32_t {
    Mufu = 0x108,
    Nop = 0x118,
    Branch = 0x147,
    Exit = 0x14d,
    LoadGlobal = 0x181,
    StoreGlobal = 0x186,
    LoadLocal = 0x183,
    StoreLocal = 0x187,
    Signal = 0x1a7,
    BoxCopy = 0x1b4,
    RegisterMove = 0x1c8,
    GroupProduct = 0x1f0,
};

template <typename T> T read(std::string_view bytes, size_t at) {
    T out = 0;
    if (at + sizeof out <= bytes.size())
        std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
}

/// The section ".text.<kernel>" of an ELF file.
std::string_view codeOf(std::string_view elf) {
    const auto headers = read<uint64_t>(elf, 0x28);
    const size_t size = read<uint16_t>(elf, 0x3a), count = read<uint16_t>(elf, 0x3c);
    const size_t names = headers + size * read<uint16_t>(elf, 0x3e);
    const auto namesAt = read<uint64_t>(elf, names + 0x18);
    for (size_t i = 0; i < count; ++i) {
        const size_t header = headers + size * i;
        const size_t name = namesAt + read<uint32_t>(elf, header);
        const auto at = read<uint64_t>(elf, header + 0x18),
                   bytes = read<uint64_t>(elf, header + 0x20);
        if (name < elf.size() && elf.substr(name).starts_with(".text.") && at + bytes <= elf.size())
            return elf.substr(at, bytes);
    }
    return {};
}

void add(Instructions& to, uint32_t opcode, uint64_t high) {
    constexpr uint64_t backwards = 0x3ffff, wide = 6; // upper bits of the distance; of the size
    ++to.total;
    to.special += opcode == Mufu ? 1 : 0;
    if (opcode == LoadGlobal || opcode == StoreGlobal) {
        const bool whole = (high >> 9 & 7) == wide;
        to.globalLoads += whole && opcode == LoadGlobal ? 1 : 0;
        to.globalStores += whole && opcode == StoreGlobal ? 1 : 0;
        to.narrow += whole ? 0 : 1;
    }
    to.loops = to.loops || (opcode == Branch && (high & backwards) == backwards);
}

} // namespace

Instructions count(const std::string& cubin) {
    const std::string_view code = codeOf(cubin);
    Instructions out;
    for (size_t at = 0; at + instructionBytes <= code.size(); at += instructionBytes) {
        const auto low = read<uint64_t>(code, at), high = read<uint64_t>(code, at + 8);
        const auto opcode = static_cast<uint32_t>(low & 0x1ff);
        if (opcode == Nop)
            continue;
        add(out, opcode, high);
        const bool always = (low >> 12 & 0xf) == 7;
        if (opcode == Exit && always) // what follows is only called
            return out;
    }
    return out;
}

HopperInstructions countHopper(const std::string& cubin) {
    const std::string_view code = codeOf(cubin);
    HopperInstructions out;
    for (size_t at = 0; at + instructionBytes <= code.size(); at += instructionBytes) {
        const auto opcode = static_cast<uint32_t>(read<uint64_t>(code, at) & 0x1ff);
        out.products += opcode == GroupProduct ? 1 : 0;
        out.boxCopies += opcode == BoxCopy ? 1 : 0;
        out.signals += opcode == Signal ? 1 : 0;
        out.registerMoves += opcode == RegisterMove ? 1 : 0;
        out.local += opcode == LoadLocal || opcode == StoreLocal ? 1 : 0;
    }
    return out;
}

} // namespace fuselage::machine_code
