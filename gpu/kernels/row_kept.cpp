// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/row_kept.h"

#include "core/ops/tape.h"

#include <algorithm>
#include <vector>

namespace fuselage::gpu {

namespace {

/// Registers that `root` is computed from, itself included.
std::vector<bool> reached(const Tape& tape, const std::vector<uint16_t>& roots) {
    std::vector<bool> out(tape.code.size());
    for (uint16_t root : roots)
        out[root] = true;
    for (size_t i = tape.code.size(); i-- > 0;)
        for (int k = 0; out[i] && k < operandCount(tape.code[i].op); ++k)
            out[tape.code[i].operand[k]] = true;
    return out;
}

/// Registers of `b` that compute what `reg` of `a` does: found from the operands up.
std::vector<std::optional<uint16_t>> twins(const Tape& a, const Tape& b) {
    std::vector<std::optional<uint16_t>> out(a.code.size());
    auto same = [&](const TapeInstruction& x, const TapeInstruction& y) {
        bool equal = x.op == y.op && x.type == y.type && x.index == y.index &&
                     x.number == y.number && x.integer == y.integer;
        for (int k = 0; equal && k < operandCount(x.op); ++k)
            equal = out[x.operand[k]] == y.operand[k];
        return equal;
    };
    for (size_t i = 0; i < a.code.size(); ++i)
        for (size_t j = 0; j < b.code.size() && !out[i]; ++j)
            if (same(a.code[i], b.code[j]))
                out[i] = static_cast<uint16_t>(j);
    return out;
}

bool reads(const Tape& tape, const std::vector<bool>& live, size_t read) {
    for (size_t i = 0; i < tape.code.size(); ++i)
        if (live[i] && tape.code[i].op == TapeOp::Input && tape.code[i].index == read)
            return true;
    return false;
}

/// Without what no output needs.
Tape pruned(const Tape& tape) {
    const std::vector<bool> live = reached(tape, tape.outputs);
    std::vector<uint16_t> moved(tape.code.size());
    Tape out;
    out.inputs = tape.inputs;
    for (size_t i = 0; i < tape.code.size(); ++i) {
        if (!live[i])
            continue;
        moved[i] = static_cast<uint16_t>(out.code.size());
        out.code.push_back(tape.code[i]);
        for (int k = 0; k < operandCount(tape.code[i].op); ++k)
            out.code.back().operand[k] = moved[tape.code[i].operand[k]];
    }
    for (uint16_t reg : tape.outputs)
        out.outputs.push_back(moved[reg]);
    return out;
}

/// A tape with a new input in the place of what computes `value` of `map`; none where it does not.
std::optional<Tape> withInput(const Tape& tape, const Tape& map, uint16_t value) {
    const std::optional<uint16_t> reg = twins(map, tape)[value];
    if (!reg || !reached(tape, tape.outputs)[*reg])
        return std::nullopt;
    Tape out = tape;
    const DType type = tape.type(*reg);
    out.code[*reg] = {};
    out.code[*reg].op = TapeOp::Input;
    out.code[*reg].type = type;
    out.code[*reg].index = static_cast<uint16_t>(tape.inputs.size());
    out.inputs.push_back(type);
    return pruned(out);
}

KeptMap replaced(const Row& program, size_t stage, size_t output) {
    const Tape& map = program.stages[stage].map;
    const uint16_t value = map.outputs[output];
    KeptMap out{stage, output, {}, withInput(program.element, map, value)};
    out.maps.resize(program.stages.size());
    for (size_t later = stage + 1; later < program.stages.size(); ++later)
        out.maps[later] = withInput(program.stages[later].map, map, value);
    return out;
}

bool reads(const Tape& tape, size_t read) {
    return reads(tape, reached(tape, tape.outputs), read);
}

/// Whether a read that the map takes is needed by a later pass.
bool needsRowAgain(const Row& program, const KeptMap& kept) {
    for (size_t read = 0; read < program.reads.size(); ++read) {
        if (!reads(program.stages[kept.stage].map, read))
            continue;
        if (reads(kept.element ? *kept.element : program.element, read))
            return true;
        for (size_t later = kept.stage + 1; later < program.stages.size(); ++later)
            if (reads(kept.maps[later] ? *kept.maps[later] : program.stages[later].map, read))
                return true;
    }
    return false;
}

/// Instructions of the device that one element's value saves, roughly.
int gainOf(const Row& program, size_t stage, uint16_t value) {
    constexpr int dear = 4;
    const Tape& map = program.stages[stage].map;
    const std::vector<bool> used = reached(map, {value});
    int out = 0, taken = 0;
    for (size_t i = 0; i < used.size(); ++i)
        out += used[i] && rowOf(map.code[i].op).cost.issue > 1 ? dear : 0;
    for (size_t read = 0; read < program.reads.size(); ++read)
        taken += reads(map, used, read) ? 1 : 0;
    return out + std::max(taken - 1, 0);
}

} // namespace

std::optional<KeptMap> keptMap(const Row& program) {
    std::optional<KeptMap> best;
    int most = 0;
    for (size_t stage = 0; stage < program.stages.size(); ++stage) {
        const Tape& map = program.stages[stage].map;
        for (size_t k = 0; k < map.outputs.size(); ++k) {
            const int gain = gainOf(program, stage, map.outputs[k]);
            if (gain <= most)
                continue;
            KeptMap kept = replaced(program, stage, k);
            const bool taken =
                kept.element || std::any_of(kept.maps.begin(), kept.maps.end(),
                                            [](const auto& x) { return x.has_value(); });
            if (!taken || needsRowAgain(program, kept))
                continue;
            most = gain;
            best = std::move(kept);
        }
    }
    return best;
}

} // namespace fuselage::gpu
