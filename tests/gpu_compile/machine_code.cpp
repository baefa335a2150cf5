// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_compile/machine_code.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace fuselage::machine_code {

namespace {

constexpr size_t instructionBytes = 16;

/// Lowest 9 bits; the 3 above say where operands come from.
enum Opcode : uint32_t {
    MultiplyAdd = 0x023,
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
    IntegerProduct = 0x037,
    GroupProduct = 0x1f0,
    IntegerGroupProduct = 0x1f1,
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

constexpr int im2colMode = 18; ///< bit of a BoxCopy's upper word

/// One instruction and where it stands.
struct Instruction {
    size_t at;
    uint64_t low, high;

    uint32_t opcode() const { return static_cast<uint32_t>(low & 0x1ff); }
    bool always() const { return (low >> 12 & 0xf) == 7; }

    /// Of a branch of sm_90: its distance from the next instruction in words of 4 bytes, of which
    /// the lowest 8 bits stand apart from the 48 above.
    size_t target() const {
        const uint64_t words = (low >> 34 | high << 30) << 8 | (low >> 16 & 0xff);
        const int64_t distance = static_cast<int64_t>(words << 8) >> 8; // 56 bits, signed
        return at + instructionBytes + static_cast<size_t>(distance * 4);
    }
    bool closesLoop() const { return opcode() == Branch && target() < at; }
    /// Fills up to a multiple of some bytes: a branch to itself behind the end, and nothing.
    bool pads() const { return opcode() == Nop || (opcode() == Branch && target() == at); }
};

std::vector<Instruction> instructionsOf(std::string_view code) {
    std::vector<Instruction> out;
    for (size_t at = 0; at + instructionBytes <= code.size(); at += instructionBytes)
        out.push_back({at, read<uint64_t>(code, at), read<uint64_t>(code, at + 8)});
    return out;
}

void add(Instructions& to, const Instruction& instruction) {
    constexpr uint64_t wide = 6;
    const uint32_t opcode = instruction.opcode();
    ++to.total;
    to.multiplyAdds += opcode == MultiplyAdd ? 1 : 0;
    to.special += opcode == Mufu ? 1 : 0;
    if (opcode == LoadGlobal || opcode == StoreGlobal) {
        const bool whole = (instruction.high >> 9 & 7) == wide;
        to.globalLoads += whole && opcode == LoadGlobal ? 1 : 0;
        to.globalStores += whole && opcode == StoreGlobal ? 1 : 0;
        to.narrow += whole ? 0 : 1;
    }
    to.loops = to.loops || instruction.closesLoop();
}

/// From its first instruction to the last branch back to it.
struct Span {
    size_t first, last;
};

/// By their beginnings, outer ones before inner ones.
std::vector<Span> loopsOf(const std::vector<Instruction>& code) {
    std::vector<Span> out;
    for (const Instruction& instruction : code) {
        if (!instruction.closesLoop())
            continue;
        const size_t first = instruction.target();
        auto known = std::find_if(out.begin(), out.end(),
                                  [&](const Span& span) { return span.first == first; });
        if (known == out.end())
            out.push_back({first, instruction.at});
        else
            known->last = instruction.at;
    }
    std::sort(out.begin(), out.end(),
              [](const Span& a, const Span& b) { return a.first < b.first; });
    return out;
}

} // namespace

Instructions count(const std::string& cubin) {
    Instructions out;
    for (const Instruction& instruction : instructionsOf(codeOf(cubin))) {
        if (instruction.pads())
            continue;
        add(out, instruction);
        if (instruction.opcode() == Exit && instruction.always()) // what follows is only called
            return out;
    }
    return out;
}

std::vector<Instructions> countParts(const std::string& cubin) {
    const std::vector<Instruction> code = instructionsOf(codeOf(cubin));
    if (code.empty())
        return {};
    const std::vector<Span> loops = loopsOf(code);
    std::vector<Instructions> out(loops.size() + 1);
    for (const Instruction& instruction : code) {
        size_t innermost = 0;
        for (size_t i = 0; i < loops.size(); ++i)
            if (loops[i].first <= instruction.at && instruction.at <= loops[i].last)
                innermost = i + 1;
        if (!instruction.pads())
            add(out[innermost], instruction);
    }
    return out;
}

MatrixInstructions countMatrix(const std::string& cubin) {
    MatrixInstructions out;
    for (const Instruction& instruction : instructionsOf(codeOf(cubin))) {
        const uint32_t opcode = instruction.opcode();
        out.products += opcode == GroupProduct ? 1 : 0;
        out.integerGroups += opcode == IntegerGroupProduct ? 1 : 0;
        out.integers += opcode == IntegerProduct ? 1 : 0;
        out.boxCopies += opcode == BoxCopy ? 1 : 0;
        out.pixelCopies += opcode == BoxCopy && (instruction.high >> im2colMode & 1) != 0 ? 1 : 0;
        out.signals += opcode == Signal ? 1 : 0;
        out.registerMoves += opcode == RegisterMove ? 1 : 0;
        out.local += opcode == LoadLocal || opcode == StoreLocal ? 1 : 0;
    }
    return out;
}

} // namespace fuselage::machine_code
