// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/row_reuse.h"

#include "core/ops/tape_power.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <tuple>

namespace fuselage {

namespace {

/// Equal for instructions that compute the same: operands by their numbers.
using Key = std::tuple<TapeOp, DType, std::array<uint32_t, 3>, uint16_t, uint64_t, int64_t>;

class Numbering {
public:
    Numbering(const Row& row, const RowReuseLimits& limits) : m_row(row), m_limits(limits) {
        for (const Row::Stage& stage : row.stages)
            m_tapes.push_back(&stage.map);
        m_tapes.push_back(&row.element);
        for (size_t t = 0; t < m_tapes.size(); ++t)
            number(t);
    }

    RowReuse run() {
        m_reads.resize(m_tapes.size());
        for (size_t t = 1; t < m_tapes.size(); ++t)
            if (t + 1 < m_tapes.size() || m_limits.withElements)
                chooseReads(t);
        RowReuse out;
        for (size_t t = 0; t < m_tapes.size(); ++t)
            out.parts.push_back(partOf(t));
        for (const auto& [number, value] : m_values) {
            if (out.values.size() <= value)
                out.values.resize(value + 1);
            const Facts& facts = m_facts[number];
            out.values[value] = m_tapes[facts.tape]->type(facts.reg);
        }
        return out;
    }

private:
    /// Of a number: where it is computed first, and what that takes.
    struct Facts {
        size_t tape = 0;
        uint16_t reg = 0;
        double issue = 0; ///< with everything in front of it
        bool ofElements = false;
    };

    void number(size_t t) {
        const Tape& tape = *m_tapes[t];
        std::vector<uint32_t>& numbers = m_numbers.emplace_back();
        for (size_t i = 0; i < tape.code.size(); ++i) {
            const TapeInstruction& at = tape.code[i];
            Facts facts{t, static_cast<uint16_t>(i), 0, false};
            std::array<uint32_t, 3> operands{};
            for (int k = 0; k < operandCount(at.op); ++k) {
                operands[static_cast<size_t>(k)] = numbers[at.operand[k]];
                const Facts& operand = m_facts[operands[static_cast<size_t>(k)]];
                facts.issue += operand.issue;
                facts.ofElements = facts.ofElements || operand.ofElements;
            }
            if (at.op == TapeOp::Input)
                facts.ofElements = at.index < m_row.reads.size();
            else if (at.op != TapeOp::Constant)
                facts.issue += productsOfPower(tape, at) > 0
                                   ? productsOfPower(tape, at)
                                   : static_cast<double>(rowOf(at.op).cost.issue);
            auto [known, isNew] =
                m_known.try_emplace(Key(at.op, at.type, operands, at.index,
                                        std::bit_cast<uint64_t>(at.number), at.integer),
                                    static_cast<uint32_t>(m_facts.size()));
            if (isNew)
                m_facts.push_back(facts);
            numbers.push_back(known->second);
        }
    }

    bool isHandedOn(uint32_t number, size_t to) const {
        const Facts& facts = m_facts[number];
        const TapeInstruction& at = m_tapes[facts.tape]->code[facts.reg];
        return facts.tape < to && at.op != TapeOp::Input && at.op != TapeOp::Constant &&
               facts.ofElements && !isNarrowFloat(at.type) &&
               facts.issue >= static_cast<double>(m_limits.leastIssue);
    }

    /// From the outputs down to what an earlier tape has.
    void chooseReads(size_t t) {
        const Tape& tape = *m_tapes[t];
        std::vector<bool> needed(tape.code.size(), false);
        for (uint16_t reg : tape.outputs)
            needed[reg] = true;
        for (size_t i = tape.code.size(); i-- > 0;) {
            if (!needed[i])
                continue;
            const uint32_t number = m_numbers[t][i];
            if (isHandedOn(number, t)) {
                m_values.try_emplace(number, static_cast<uint32_t>(m_values.size()));
                m_reads[t].push_back(number);
                continue;
            }
            for (int k = 0; k < operandCount(tape.code[i].op); ++k)
                needed[tape.code[i].operand[k]] = true;
        }
        std::reverse(m_reads[t].begin(), m_reads[t].end()); // in the order of the tape
    }

    /// The tape without what it reads instead, and with what it makes for others behind its
    /// outputs.
    RowReuse::Part partOf(size_t t) const {
        const Tape& tape = *m_tapes[t];
        RowReuse::Part out;
        std::vector<uint16_t> outputs = tape.outputs; // registers of the tape as it was
        for (const auto& [number, value] : m_values) {
            const Facts& facts = m_facts[number];
            if (facts.tape != t)
                continue;
            const auto known = std::find(outputs.begin(), outputs.end(), facts.reg);
            out.makes.push_back({value, static_cast<uint32_t>(known - outputs.begin())});
            if (known == outputs.end())
                outputs.push_back(facts.reg);
        }
        out.tape.inputs = tape.inputs;
        std::map<uint32_t, uint16_t> inputOf;
        for (uint32_t number : m_reads[t]) {
            const Facts& facts = m_facts[number];
            inputOf[number] = static_cast<uint16_t>(out.tape.inputs.size());
            out.tape.inputs.push_back(m_tapes[facts.tape]->type(facts.reg));
            out.reads.push_back(m_values.at(number));
        }
        const std::vector<bool> needed = neededFor(t, outputs);
        std::vector<uint16_t> moved(tape.code.size(), 0);
        for (size_t i = 0; i < tape.code.size(); ++i) {
            if (!needed[i])
                continue;
            TapeInstruction at = tape.code[i];
            if (auto known = inputOf.find(m_numbers[t][i]); known != inputOf.end()) {
                at = {TapeOp::Input, at.type};
                at.index = known->second;
            }
            for (int k = 0; k < operandCount(at.op); ++k)
                at.operand[k] = moved[at.operand[k]];
            moved[i] = static_cast<uint16_t>(out.tape.code.size());
            out.tape.code.push_back(at);
        }
        for (uint16_t reg : outputs)
            out.tape.outputs.push_back(moved[reg]);
        return out;
    }

    /// Registers that these outputs need; nothing in front of what an earlier tape hands on.
    std::vector<bool> neededFor(size_t t, const std::vector<uint16_t>& outputs) const {
        const Tape& tape = *m_tapes[t];
        std::vector<bool> out(tape.code.size(), false);
        for (uint16_t reg : outputs)
            out[reg] = true;
        for (size_t i = tape.code.size(); i-- > 0;)
            if (out[i] && !isRead(t, m_numbers[t][i]))
                for (int k = 0; k < operandCount(tape.code[i].op); ++k)
                    out[tape.code[i].operand[k]] = true;
        return out;
    }

    bool isRead(size_t t, uint32_t number) const {
        return std::find(m_reads[t].begin(), m_reads[t].end(), number) != m_reads[t].end();
    }

    const Row& m_row;
    RowReuseLimits m_limits;
    std::vector<const Tape*> m_tapes;
    std::map<Key, uint32_t> m_known;
    std::vector<Facts> m_facts;                   ///< by number
    std::vector<std::vector<uint32_t>> m_numbers; ///< per tape and register
    std::vector<std::vector<uint32_t>> m_reads;   ///< per tape: numbers
    std::map<uint32_t, uint32_t> m_values;        ///< number -> value
};

} // namespace

RowReuse reuseInRow(const Row& row, const RowReuseLimits& limits) {
    return Numbering(row, limits).run();
}

} // namespace fuselage
