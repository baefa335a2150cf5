// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/constant_part.h"

#include "core/cpu/tile_pointwise.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

constexpr int varies = -1, anywhere = -2; // else: the first read of its group

Access identityAccess(uint32_t operand, size_t dims) {
    Access out{operand, {}};
    for (uint32_t d = 0; d < dims; ++d)
        out.index.push_back({0, {{d, 1}}});
    return out;
}

class ConstantFolder {
public:
    ConstantFolder(const Pointwise& program, const PrepareContext& context)
        : m_program(program), m_context(context), m_tape(program.tape) {}

    FoldedPointwise run() {
        FoldedPointwise out{m_program, m_context.inputs, 0};
        findGroups();
        findResults();
        if (m_results.empty())
            return out;
        for (size_t read = 0; read < m_program.reads.size(); ++read)
            compute(static_cast<int>(read), out);
        rewrite(out);
        for (uint32_t operand = 0; operand < m_context.inputs.size(); ++operand)
            if (reads(m_program, operand) && !reads(out.program, operand))
                out.bytes += *elementCount(m_context.inputs[operand].extents) *
                             static_cast<int64_t>(sizeOf(m_context.inputs[operand].dtype));
        return out;
    }

private:
    struct Result {
        uint16_t reg = 0;
        uint32_t read = 0; ///< of the new program
    };

    static bool reads(const Pointwise& program, uint32_t operand) {
        return std::any_of(program.reads.begin(), program.reads.end(),
                           [=](const Access& read) { return read.operand == operand; });
    }

    /// A constant with fewer elements than the space, each read at one place of its dimensions.
    bool isBroadcastConstant(const Access& read) const {
        const OperandLayout& layout = m_context.inputs[read.operand];
        if (!layout.constant || elementCount(layout.extents) == elementCount(m_program.space))
            return false;
        std::vector<bool> taken(m_program.space.size(), false);
        for (size_t d = 0; d < read.index.size(); ++d) {
            const DimIndex& index = read.index[d];
            if (index.terms.empty() && index.offset == 0 && layout.extents[d] == 1)
                continue;
            if (index.offset != 0 || index.terms.size() != 1 || index.terms[0].scale != 1 ||
                taken[index.terms[0].dim] ||
                layout.extents[d] != m_program.space[index.terms[0].dim])
                return false;
            taken[index.terms[0].dim] = true;
        }
        return true;
    }

    int groupOfRead(uint16_t index) const {
        const Access& read = m_program.reads[index];
        if (!isBroadcastConstant(read))
            return varies;
        for (uint16_t other = 0; other < index; ++other)
            if (isBroadcastConstant(m_program.reads[other]) &&
                m_program.reads[other].index == read.index)
                return other;
        return index;
    }

    void findGroups() {
        for (const TapeInstruction& x : m_tape.code) {
            int group = x.op == TapeOp::Input ? groupOfRead(x.index) : anywhere;
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

    /// The tape with other outputs and without what they do not need; reads are renumbered.
    static Tape partOf(const Tape& tape, const std::vector<uint16_t>& outputs,
                       std::vector<uint16_t>& reads) {
        std::vector<bool> live(tape.code.size(), false);
        for (uint16_t reg : outputs)
            live[reg] = true;
        for (size_t i = tape.code.size(); i-- > 0;)
            for (int k = 0; live[i] && k < operandCount(tape.code[i].op); ++k)
                live[tape.code[i].operand[k]] = true;
        Tape out;
        std::vector<uint16_t> moved(tape.code.size(), 0);
        for (size_t i = 0; i < tape.code.size(); ++i) {
            if (!live[i])
                continue;
            TapeInstruction x = tape.code[i];
            if (x.op == TapeOp::Input) {
                reads.push_back(x.index);
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

    /// Computes the results of one group into constants that are read like its operands.
    void compute(int group, FoldedPointwise& out) {
        std::vector<uint16_t> outputs, used;
        for (const Result& result : m_results)
            if (m_groups[result.reg] == group)
                outputs.push_back(result.reg);
        if (outputs.empty())
            return;
        Pointwise part;
        part.tape = partOf(m_tape, outputs, used);
        const auto first = static_cast<size_t>(group);
        part.space = m_context.inputs[m_program.reads[first].operand].extents;
        PrepareContext inner{{}, {}, m_context.table, m_context.threads, m_context.strict};
        Operands operands;
        for (uint16_t read : used) {
            OperandLayout layout = m_context.inputs[m_program.reads[read].operand];
            operands.inputs.push_back(layout.constant->bytes());
            layout.constant = nullptr; // nothing is left to fold in the part
            part.reads.push_back(
                identityAccess(static_cast<uint32_t>(inner.inputs.size()), part.space.size()));
            inner.inputs.push_back(std::move(layout));
        }
        for (uint16_t reg : outputs) {
            auto data = std::make_shared<Tensor>(m_tape.type(reg), part.space);
            operands.outputs.push_back(data->bytes());
            part.writes.push_back(
                identityAccess(static_cast<uint32_t>(inner.outputs.size()), part.space.size()));
            inner.outputs.push_back(
                {data->dtype(), part.space, rowMajorStrides(part.space), nullptr});
            m_newRead.push_back(
                {static_cast<uint32_t>(out.inputs.size()), m_program.reads[first].index});
            for (Result& result : m_results)
                if (result.reg == reg)
                    result.read = static_cast<uint32_t>(m_newRead.size() - 1);
            out.inputs.push_back(
                {data->dtype(), part.space, rowMajorStrides(part.space), std::move(data)});
        }
        RunContext run{m_context.threads};
        preparePointwise(part, inner)->run(operands, run);
    }

    void rewrite(FoldedPointwise& out) const {
        Tape tape = m_tape;
        const size_t given = m_program.reads.size();
        for (const Result& result : m_results)
            tape.code[result.reg] = {TapeOp::Input,
                                     m_tape.type(result.reg),
                                     {},
                                     static_cast<uint16_t>(given + result.read),
                                     0,
                                     0};
        std::vector<uint16_t> used;
        out.program.tape = partOf(tape, m_tape.outputs, used);
        out.program.reads.clear();
        for (uint16_t read : used)
            out.program.reads.push_back(read < given ? m_program.reads[read]
                                                     : m_newRead[read - given]);
    }

    const Pointwise& m_program;
    const PrepareContext& m_context;
    const Tape& m_tape;
    std::vector<int> m_groups; ///< per register
    std::vector<Result> m_results;
    std::vector<Access> m_newRead;
};

} // namespace

FoldedPointwise foldConstantPart(const Pointwise& program, const PrepareContext& context) {
    return ConstantFolder(program, context).run();
}

} // namespace fuselage::cpu
