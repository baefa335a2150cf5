// SPDX-License-Identifier: Apache-2.0
// Programs as stable text: one fact a line, tapes indented. What goldens compare and reports show.
#include "core/kernel/index_map_internal.h"
#include "core/kernel/program.h"
#include "core/ops/op_table.h"
#include "core/support/text.h"

#include <fmt/format.h>

namespace fuselage {

namespace {

class Printer {
public:
    explicit Printer(const KernelProgram& program, std::string indent = {})
        : m_program(program), m_indent(std::move(indent)) {}

    std::string print();

    void operator()(const Pointwise& code);
    void operator()(const Row& code);
    void operator()(const Contraction& code);
    void operator()(const Attention& code);
    void operator()(const Window& code);
    void operator()(const Copy& code);
    void operator()(const Group& code);
    void operator()(const Library& code);
    void operator()(const Chain& code);

private:
    void line(const std::string& text) { m_out += m_indent + text + "\n"; }

    void tape(const char* name, const Tape& tape);
    void reads(const std::vector<Access>& reads);
    void writes(const std::vector<Access>& writes);
    void window(const char* name, const SlidingWindow& window);
    void prologue(const char* name, const std::optional<Prologue>& prologue);
    void epilogue(const Epilogue& epilogue);

    const KernelProgram& m_program;
    std::string m_indent;
    std::string m_out;
};

std::string accessText(const char* prefix, const Access& access) {
    return fmt::format("{}{}{}", prefix, access.operand, text(access.index));
}

const char* nameOf(PoolKind kind) {
    constexpr const char* names[] = {"max", "average", "average including pad", "lp"};
    return names[static_cast<size_t>(kind)];
}

const char* nameOf(ReduceKind kind) {
    constexpr const char* names[] = {"sum",    "product", "max",        "min",
                                     "argmax", "argmin",  "argmaxlast", "argminlast"};
    return names[static_cast<size_t>(kind)];
}

void Printer::tape(const char* name, const Tape& tape) {
    if (tape.outputs.empty())
        return;
    line(fmt::format("{}:", name));
    std::string body = tape.text();
    for (size_t begin = 0; begin < body.size();) {
        size_t end = body.find('\n', begin);
        line("  " + body.substr(begin, end - begin));
        begin = end == std::string::npos ? body.size() : end + 1;
    }
}

void Printer::reads(const std::vector<Access>& reads) {
    for (size_t i = 0; i < reads.size(); ++i)
        line(fmt::format("read {} = {}", i, accessText("in", reads[i])));
}

void Printer::writes(const std::vector<Access>& writes) {
    for (const Access& write : writes)
        line(fmt::format("write {}", accessText("out", write)));
}

void Printer::window(const char* name, const SlidingWindow& window) {
    line(fmt::format("{} kernel {} strides {} dilations {} pads {} {}{}", name, text(window.kernel),
                     text(window.strides), text(window.dilations), text(window.padsBegin),
                     text(window.padsEnd), window.ceilMode ? " ceil" : ""));
}

void Printer::prologue(const char* name, const std::optional<Prologue>& prologue) {
    if (!prologue)
        return;
    reads(prologue->reads);
    tape(name, prologue->tape);
}

void Printer::epilogue(const Epilogue& epilogue) {
    reads(epilogue.reads);
    tape("epilogue", epilogue.tape);
    writes(epilogue.writes);
}

void Printer::operator()(const Pointwise& code) {
    line("space " + text(code.space));
    reads(code.reads);
    tape("tape", code.tape);
    writes(code.writes);
}

void Printer::operator()(const Row& code) {
    line(fmt::format("outer {} inner {}", text(code.outer), text(code.inner)));
    reads(code.reads);
    for (const Row::Stage& stage : code.stages) {
        std::string kinds;
        for (ReduceKind kind : stage.reduce)
            kinds += std::string(" ") + nameOf(kind);
        line("reduce" + kinds);
        tape("map", stage.map);
        tape("scalar", stage.scalar);
    }
    tape("element", code.element);
    writes(code.elementWrites);
    tape("row", code.row);
    writes(code.rowWrites);
}

void Printer::operator()(const Contraction& code) {
    constexpr const char* kinds[] = {"matmul", "conv", "convtranspose"};
    line(fmt::format("{} space {} k {}", kinds[static_cast<size_t>(code.kind)], text(code.space),
                     text(code.k)));
    if (code.kind == Contraction::Kind::MatMul)
        line(fmt::format("batch {} m {} n {}", code.batchDims, code.mDims, code.nDims));
    else
        window(fmt::format("groups {} window", code.groups).c_str(), code.window);
    line("a = " + accessText("in", code.a));
    line("b = " + accessText("in", code.b));
    line(fmt::format("accumulate {}", nameOf(code.accumulate)));
    prologue("prologue a", code.prologueA);
    prologue("prologue b", code.prologueB);
    if (code.poolWindow) {
        window(fmt::format("pool {}", nameOf(code.poolKind)).c_str(), *code.poolWindow);
        line("pool space " + text(code.poolSpace));
    }
    epilogue(code.epilogue);
}

void Printer::operator()(const Attention& code) {
    line(fmt::format("batch {} l {} s {} d {} e {} scale {}", text(code.batch), code.l, code.s,
                     code.d, code.e, code.scale));
    line("q = " + accessText("in", code.q));
    line("k = " + accessText("in", code.k));
    line("v = " + accessText("in", code.v));
    for (const ScoreStep& step : code.steps) {
        const std::string operand = step.reads() ? accessText("in", step.access) : "";
        if (step.kind == ScoreStep::Kind::Apply)
            tape("score", step.function);
        else if (step.kind == ScoreStep::Kind::Add)
            line("mask = + " + operand);
        else if (step.kind == ScoreStep::Kind::Multiply)
            line("mask = * " + operand);
        else
            line(fmt::format("mask = {}{} else {}",
                             step.kind == ScoreStep::Kind::KeepWhereFalse ? "not " : "", operand,
                             step.fill));
    }
    if (code.sink)
        line("sink = " + (code.sink->read ? accessText("in", *code.sink->read)
                                          : fmt::format("{}", code.sink->number)));
    if (code.zeroesNan)
        line("rows of NaN are zeros");
    line("write " + accessText("out", code.output));
}

void Printer::operator()(const Window& code) {
    line(fmt::format("{} space {} of in{}", nameOf(code.kind), text(code.space), code.operand));
    window("window", code.window);
    if (code.kind == PoolKind::Lp)
        line(fmt::format("p {}", code.p));
    prologue("prologue", code.prologue);
    epilogue(code.epilogue);
}

void Printer::operator()(const Copy& code) {
    for (const Copy::Piece& piece : code.pieces)
        line(fmt::format("piece {} {} -> {}", text(piece.space),
                         piece.read ? accessText("in", *piece.read)
                                    : fmt::format("fill {}", piece.fill),
                         accessText("out", piece.write)));
}

void Printer::operator()(const Group& code) {
    for (const KernelProgram& member : code.members)
        m_out += Printer(member, m_indent + "  ").print();
}

void Printer::operator()(const Library& code) {
    const Node& node = m_program.body->node(code.node);
    line(fmt::format("routine {}",
                     node.op == Op::Unknown ? node.customOp : fuselage::nameOf(node.op)));
}

void Printer::operator()(const Chain& code) {
    for (const KernelProgram& member : code.members)
        m_out += Printer(member, m_indent + "  ").print();
}

std::string Printer::print() {
    auto types = [](const std::vector<OperandType>& operands) {
        return joined(operands, [](const OperandType& operand) {
            return fuselage::nameOf(operand.dtype) + text(operand.extents);
        });
    };
    line(fmt::format("{} ({}) => ({}) {}", fuselage::nameOf(kindOf(m_program)),
                     types(m_program.inputs), types(m_program.outputs),
                     fuselage::nameOf(m_program.numeric)));
    m_indent += "  ";
    std::visit(*this, m_program.code);
    return m_out;
}

} // namespace

const char* nameOf(ProgramKind kind) {
    constexpr const char* names[] = {"Pointwise", "Row",   "Contraction", "Attention", "Window",
                                     "Copy",      "Group", "Library",     "Chain"};
    static_assert(std::size(names) == std::variant_size_v<ProgramCode>);
    return names[static_cast<size_t>(kind)];
}

std::string text(const KernelProgram& program) {
    return Printer(program).print();
}

StridedAccess strided(const Access& access, const Extents& operandStrides, size_t dims) {
    StridedAccess out;
    out.strides.assign(dims, 0);
    for (size_t d = 0; d < access.index.size(); ++d) {
        out.offset += access.index[d].offset * operandStrides[d];
        for (const IndexTerm& term : access.index[d].terms)
            out.strides[term.dim] += term.scale * operandStrides[d];
    }
    return out;
}

} // namespace fuselage
