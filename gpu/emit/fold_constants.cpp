// SPDX-License-Identifier: Apache-2.0
#include "gpu/emit/fold_constants.h"

#include "core/graph/type.h"
#include "core/kernel/constant_part.h"
#include "core/kernel/evaluate.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// Larger constants stay as they are: their tables would cost more than they save.
constexpr int64_t mostElements = int64_t{1} << 16;
// A row reads its constants anew, so a conversion alone is no reason for a wider table there: it
// costs more bytes and registers than the conversions take.

std::vector<TensorPtr> computed(const ConstantPart& part) {
    KernelProgram program;
    std::vector<ReferenceValue> values;
    for (const TensorPtr& input : part.inputs) {
        program.inputs.push_back({input->dtype(), part.program.space});
        values.push_back(ReferenceValue::from(*input));
        values.back().extents = part.program.space;
    }
    for (uint16_t reg : part.program.tape.outputs)
        program.outputs.push_back({part.program.tape.type(reg), part.program.space});
    program.code = part.program;
    auto evaluation = evaluate(program, values);
    std::vector<TensorPtr> out;
    for (size_t i = 0; evaluation && i < evaluation->outputs.size(); ++i)
        out.push_back(std::make_shared<Tensor>(evaluation->outputs[i].toTensor()));
    return out;
}

/// Calls body(operand) for the number of every input that the program reads.
template <typename Body> void eachRead(Pointwise& code, Body body) {
    for (Access& read : code.reads)
        body(read.operand);
}

template <typename Body> void eachRead(Row& code, Body body) {
    for (Access& read : code.reads)
        body(read.operand);
}

template <typename Body> void eachRead(std::optional<Prologue>& code, Body body) {
    for (size_t i = 0; code && i < code->reads.size(); ++i)
        body(code->reads[i].operand);
}

template <typename Body> void eachRead(Contraction& code, Body body) {
    body(code.a.operand);
    body(code.b.operand);
    eachRead(code.prologueA, body);
    eachRead(code.prologueB, body);
    for (Access& read : code.epilogue.reads)
        body(read.operand);
}

template <typename Body> void eachRead(Window& code, Body body) {
    body(code.operand);
    eachRead(code.prologue, body);
    for (Access& read : code.epilogue.reads)
        body(read.operand);
}

class RequestFolder {
public:
    explicit RequestFolder(const KernelRequest& request) : m_request(request) {}

    std::unique_ptr<FoldedRequest> run() {
        auto out = std::make_unique<FoldedRequest>();
        out->program = *m_request.program;
        ProgramCode& code = out->program.code;
        if (auto* pointwise = std::get_if<Pointwise>(&code))
            fold(*pointwise);
        else if (auto* contraction = std::get_if<Contraction>(&code))
            fold(contraction->space, contraction->epilogue);
        else if (auto* window = std::get_if<Window>(&code))
            fold(window->space, window->epilogue);
        else if (auto* row = std::get_if<Row>(&code))
            m_results = foldConstantReads(*row, operands(), computed, {mostElements, false});
        if (m_results.empty())
            return nullptr;
        if (auto* pointwise = std::get_if<Pointwise>(&code))
            compact(*pointwise, *out);
        else if (auto* contraction = std::get_if<Contraction>(&code))
            compact(*contraction, *out);
        else if (auto* row = std::get_if<Row>(&code))
            compact(*row, *out);
        else
            compact(std::get<Window>(code), *out);
        out->program.numeric = std::max(out->program.numeric, NumericClass::Wider);
        out->request.program = &out->program;
        return out;
    }

private:
    std::vector<ConstantOperand> operands() const {
        std::vector<ConstantOperand> out;
        for (size_t i = 0; i < m_request.inputs.size(); ++i)
            out.push_back({m_request.inputs[i].extents, m_request.constants[i]});
        return out;
    }

    void fold(TapeReads from, Tape& tape, std::vector<Access>& reads) {
        FoldedReads folded = foldConstantReads(from, operands(), computed, {mostElements, true});
        if (folded.results.empty() ||
            std::any_of(folded.results.begin(), folded.results.end(),
                        [](const TensorPtr& result) { return result == nullptr; }))
            return;
        m_results = std::move(folded.results);
        tape = std::move(folded.rest.tape);
        reads = std::move(folded.rest.reads);
    }

    void fold(Pointwise& code) {
        fold({code.space, 0, code.tape, code.reads}, code.tape, code.reads);
    }

    void fold(const Extents& space, Epilogue& code) {
        fold({space, 1, code.tape, code.reads}, code.tape, code.reads);
    }

    /// Numbers the operands that are left from zero on.
    template <typename Code> void compact(Code& code, FoldedRequest& out) const {
        const auto count = static_cast<uint32_t>(m_request.inputs.size());
        std::vector<bool> read(count + m_results.size(), false);
        eachRead(code, [&](uint32_t operand) { read[operand] = true; });
        std::vector<uint32_t> number(read.size(), 0);
        KernelRequest& request = out.request = m_request;
        out.program.inputs.clear();
        request.inputs.clear();
        request.constants.clear();
        for (uint32_t i = 0; i < read.size(); ++i) {
            if (!read[i])
                continue;
            number[i] = static_cast<uint32_t>(request.inputs.size());
            if (i < count) {
                out.program.inputs.push_back(m_request.program->inputs[i]);
                request.inputs.push_back(m_request.inputs[i]);
                request.constants.push_back(m_request.constants[i]);
                out.given.emplace_back(i);
                continue;
            }
            const Tensor& table = *m_results[i - count];
            out.program.inputs.push_back({table.dtype(), table.extents()});
            request.inputs.push_back(
                {table.dtype(), table.extents(), rowMajorStrides(table.extents()), 16});
            request.constants.push_back(m_results[i - count]);
            out.given.emplace_back(std::nullopt);
            out.tables.emplace_back(reinterpret_cast<const char*>(table.bytes()),
                                    table.byteCount());
        }
        eachRead(code, [&](uint32_t& operand) { operand = number[operand]; });
    }

    const KernelRequest& m_request;
    std::vector<TensorPtr> m_results;
};

/// What a member of a group is asked for: operands of its own.
KernelRequest requestOf(const KernelRequest& group, const KernelProgram& member, size_t input,
                        size_t output) {
    auto cut = [](const auto& from, size_t first, size_t count) {
        if (from.empty())
            return from;
        const auto begin = from.begin() + static_cast<ptrdiff_t>(first);
        return std::decay_t<decltype(from)>(begin, begin + static_cast<ptrdiff_t>(count));
    };
    KernelRequest out = group;
    out.program = &member;
    out.inputs = cut(group.inputs, input, member.inputs.size());
    out.constants = cut(group.constants, input, member.inputs.size());
    out.outputs = cut(group.outputs, output, member.outputs.size());
    return out;
}

template <typename T> void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

/// Each member on its own; the group's operands are those of its members one after the other.
std::unique_ptr<FoldedRequest> foldGroup(const KernelRequest& request) {
    auto out = std::make_unique<FoldedRequest>();
    out->program = *request.program;
    out->program.inputs.clear();
    out->request = request;
    out->request.inputs.clear();
    out->request.constants.clear();
    size_t input = 0, output = 0;
    for (KernelProgram& member : std::get<Group>(out->program.code).members) {
        const KernelRequest of = requestOf(request, member, input, output);
        const std::unique_ptr<FoldedRequest> folded = RequestFolder(of).run();
        const KernelRequest& becomes = folded ? folded->request : of;
        append(out->request.inputs, becomes.inputs);
        append(out->request.constants, becomes.constants);
        for (size_t i = 0; i < becomes.inputs.size(); ++i) {
            const std::optional<uint32_t> own =
                folded ? folded->given[i] : std::optional(static_cast<uint32_t>(i));
            out->given.push_back(own ? std::optional(static_cast<uint32_t>(input + *own)) : own);
        }
        input += member.inputs.size();
        output += member.outputs.size();
        if (folded) {
            append(out->tables, folded->tables);
            member = std::move(folded->program);
        }
        append(out->program.inputs, member.inputs);
    }
    if (out->tables.empty())
        return nullptr;
    out->program.numeric = std::max(out->program.numeric, NumericClass::Wider);
    out->request.program = &out->program;
    return out;
}

} // namespace

bool FoldedRequest::reads(uint32_t operand) const {
    return std::find(given.begin(), given.end(), std::optional(operand)) != given.end();
}

std::unique_ptr<FoldedRequest> foldConstants(const KernelRequest& request) {
    if (request.strict || request.allowed < NumericClass::Wider ||
        request.constants.size() != request.inputs.size())
        return nullptr;
    if (std::holds_alternative<Group>(request.program->code))
        return foldGroup(request);
    return RequestFolder(request).run();
}

void renumber(KernelSet& set, const FoldedRequest& folded) {
    const auto firstTable = static_cast<uint32_t>(set.tables.size());
    std::vector<uint32_t> tableOf(folded.given.size(), firstTable);
    for (uint32_t i = 0, next = firstTable; i < folded.given.size(); ++i)
        tableOf[i] = folded.given[i] ? next : next++;
    const auto move = [&](KernelArgument& argument) {
        if (argument.kind != KernelArgument::Kind::Input)
            return;
        const std::optional<uint32_t> given = folded.given[argument.index];
        argument.kind = given ? KernelArgument::Kind::Input : KernelArgument::Kind::Table;
        argument.index = given ? *given : tableOf[argument.index];
    };
    for (KernelText& kernel : set.kernels) {
        for (KernelArgument& argument : kernel.arguments)
            move(argument);
        for (TensorMapText& map : kernel.maps)
            move(map.memory);
    }
    for (PackedOperand& packed : set.packed)
        packed.input = *folded.given[packed.input];
    set.tables.insert(set.tables.end(), folded.tables.begin(), folded.tables.end());
}

} // namespace fuselage::gpu
