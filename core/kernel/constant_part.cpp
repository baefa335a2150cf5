// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/constant_part.h"

#include "core/graph/type.h"
#include "core/kernel/loops.h"

#include <algorithm>

namespace fuselage {

namespace {

constexpr int varies = -1, anywhere = -2; // else: the first read of its group

class ConstantFolder {
public:
    ConstantFolder(const TapeReads& from, const std::vector<ConstantOperand>& operands,
                   const ConstantEvaluator& evaluator, const FoldLimits& limits)
        : m_from(from), m_operands(operands), m_evaluator(evaluator), m_limits(limits),
          m_tape(from.tape) {}

    FoldedReads run() {
        FoldedReads out{m_from, {}};
        findGroups();
        findResults();
        if (m_results.empty())
            return out;
        for (size_t read = 0; read < m_from.reads.size(); ++read)
            compute(static_cast<int>(read), out);
        rewrite(out);
        return out;
    }

private:
    struct Result {
        uint16_t reg = 0;
        uint32_t read = 0; ///< among the new ones
    };

    /// A constant with fewer elements than the space, each read at one place of its dimensions.
    bool isBroadcastConstant(const Access& read) const {
        const ConstantOperand& operand = m_operands[read.operand];
        const int64_t count = elementCount(operand.extents).value_or(0);
        if (!operand.data || count == elementCount(m_from.space) || count > m_limits.mostElements)
            return false;
        std::vector<bool> taken(m_from.space.size(), false);
        for (size_t d = 0; d < read.index.size(); ++d) {
            const DimIndex& index = read.index[d];
            if (index.terms.empty() && index.offset == 0 && operand.extents[d] == 1)
                continue;
            if (index.offset != 0 || index.terms.size() != 1 || index.terms[0].scale != 1 ||
                taken[index.terms[0].dim] || operand.extents[d] != m_from.space[index.terms[0].dim])
                return false;
            taken[index.terms[0].dim] = true;
        }
        return true;
    }

    int groupOfInput(uint16_t input) const {
        if (input < m_from.given)
            return varies;
        const auto index = static_cast<int>(input - m_from.given);
        const Access& read = m_from.reads[static_cast<size_t>(index)];
        if (!isBroadcastConstant(read))
            return varies;
        for (int other = 0; other < index; ++other) {
            const Access& before = m_from.reads[static_cast<size_t>(other)];
            if (isBroadcastConstant(before) && before.index == read.index)
                return other;
        }
        return index;
    }

    void findGroups() {
        for (const TapeInstruction& x : m_tape.code) {
            int group = x.op == TapeOp::Input ? groupOfInput(x.index) : anywhere;
            for (int k = 0; k < operandCount(x.op); ++k) {
                const int from = m_groups[x.operand[k]];
                group = group == anywhere || group == from ? from
                        : from == anywhere                 ? group
                                                           : varies;
            }
            m_groups.push_back(group);
        }
    }

    /// Registers of a group that something outside of it needs.
    void findResults() {
        auto isFoldable = [&](uint16_t reg) {
            const DType type = m_tape.type(reg);
            const TapeInstruction& x = m_tape.code[reg];
            if (!m_limits.conversions && x.op == TapeOp::Cast &&
                m_tape.code[x.operand[0]].op == TapeOp::Input)
                return false;
            return m_groups[reg] >= 0 && m_tape.code[reg].op != TapeOp::Input &&
                   type != DType::Float16 && type != DType::BFloat16; // kept wider in registers
        };
        std::vector<bool> needed(m_tape.code.size(), false);
        for (uint16_t reg : m_tape.outputs)
            needed[reg] = true;
        for (size_t i = 0; i < m_tape.code.size(); ++i)
            for (int k = 0; k < operandCount(m_tape.code[i].op); ++k)
                if (!isFoldable(static_cast<uint16_t>(i)))
                    needed[m_tape.code[i].operand[k]] = true;
        for (size_t i = 0; i < m_tape.code.size(); ++i)
            if (needed[i] && isFoldable(static_cast<uint16_t>(i)))
                m_results.push_back({static_cast<uint16_t>(i), 0});
    }

    /// The tape with other outputs and without what they do not need; inputs from `kept` on are
    /// renumbered.
    static Tape partOf(const Tape& tape, const std::vector<uint16_t>& outputs, size_t kept,
                       std::vector<uint16_t>& inputs) {
        std::vector<bool> live(tape.code.size(), false);
        for (uint16_t reg : outputs)
            live[reg] = true;
        for (size_t i = tape.code.size(); i-- > 0;)
            for (int k = 0; live[i] && k < operandCount(tape.code[i].op); ++k)
                live[tape.code[i].operand[k]] = true;
        Tape out;
        out.inputs.assign(tape.inputs.begin(), tape.inputs.begin() + static_cast<ptrdiff_t>(kept));
        std::vector<uint16_t> moved(tape.code.size(), 0);
        for (size_t i = 0; i < tape.code.size(); ++i) {
            if (!live[i])
                continue;
            TapeInstruction x = tape.code[i];
            if (x.op == TapeOp::Input && x.index >= kept) {
                inputs.push_back(x.index);
                x.index = static_cast<uint16_t>(out.inputs.size());
                out.inputs.push_back(x.type);
            }
            for (int k = 0; k < operandCount(x.op); ++k)
                x.operand[k] = moved[x.operand[k]];
            moved[i] = static_cast<uint16_t>(out.code.size());
            out.code.push_back(x);
        }
        for (uint16_t reg : outputs)
            out.outputs.push_back(moved[reg]);
        return out;
    }

    /// Has the results of one group computed into constants that are read like its operands.
    void compute(int group, FoldedReads& out) {
        std::vector<uint16_t> outputs, used;
        for (const Result& result : m_results)
            if (m_groups[result.reg] == group)
                outputs.push_back(result.reg);
        if (outputs.empty())
            return;
        const Access& first = m_from.reads[static_cast<size_t>(group)];
        ConstantPart part;
        part.program.tape = partOf(m_tape, outputs, 0, used);
        part.program.space = m_operands[first.operand].extents;
        const size_t dims = part.program.space.size();
        for (uint16_t input : used) {
            part.program.reads.push_back(
                identityAccess(static_cast<uint32_t>(part.inputs.size()), dims));
            part.inputs.push_back(m_operands[m_from.reads[input - m_from.given].operand].data);
        }
        for (uint32_t i = 0; i < outputs.size(); ++i)
            part.program.writes.push_back(identityAccess(i, dims));
        std::vector<TensorPtr> data = m_evaluator(part);
        for (size_t i = 0; i < outputs.size(); ++i) {
            for (Result& result : m_results)
                if (result.reg == outputs[i])
                    result.read = static_cast<uint32_t>(m_newReads.size());
            m_newReads.push_back(
                {static_cast<uint32_t>(m_operands.size() + out.results.size()), first.index});
            out.results.push_back(std::move(data[i]));
        }
    }

    void rewrite(FoldedReads& out) const {
        Tape tape = m_tape;
        const size_t before = m_from.given + m_from.reads.size();
        for (const Result& result : m_results)
            tape.code[result.reg] = {TapeOp::Input,
                                     m_tape.type(result.reg),
                                     {},
                                     static_cast<uint16_t>(before + result.read),
                                     0,
                                     0};
        std::vector<uint16_t> used;
        out.rest.tape = partOf(tape, m_tape.outputs, m_from.given, used);
        out.rest.reads.clear();
        for (uint16_t input : used)
            out.rest.reads.push_back(input < before ? m_from.reads[input - m_from.given]
                                                    : m_newReads[input - before]);
    }

    const TapeReads& m_from;
    const std::vector<ConstantOperand>& m_operands;
    const ConstantEvaluator& m_evaluator;
    FoldLimits m_limits;
    const Tape& m_tape;
    std::vector<int> m_groups; ///< per register
    std::vector<Result> m_results;
    std::vector<Access> m_newReads;
};

} // namespace

FoldedReads foldConstantReads(const TapeReads& from, const std::vector<ConstantOperand>& operands,
                              const ConstantEvaluator& evaluator, const FoldLimits& limits) {
    return ConstantFolder(from, operands, evaluator, limits).run();
}

} // namespace fuselage
