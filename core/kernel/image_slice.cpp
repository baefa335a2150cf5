// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/image_slice.h"

#include <algorithm>

namespace fuselage {

namespace {

/// How a program uses an operand along the images.
enum class OperandUse : uint8_t { None, Each, Whole };

class Slicer {
public:
    Slicer(const KernelProgram& program, int64_t images)
        : m_program(program), m_total(imagesOf(program)), m_images(images),
          m_inputs(program.inputs.size(), OperandUse::None),
          m_outputs(program.outputs.size(), OperandUse::None) {}

    std::optional<ImageSlice> run() {
        m_program.body = nullptr;
        m_possible = m_total > 0;
        if (m_possible)
            std::visit(*this, m_program.code);
        auto isEach = [](OperandUse use) { return use == OperandUse::Each; };
        if (!m_possible || !std::all_of(m_outputs.begin(), m_outputs.end(), isEach))
            return std::nullopt;
        ImageSlice out;
        for (size_t i = 0; i < m_inputs.size(); ++i) {
            out.inputs.push_back(isEach(m_inputs[i]));
            if (isEach(m_inputs[i]))
                m_program.inputs[i].extents[0] = m_images;
        }
        for (OperandType& output : m_program.outputs)
            output.extents[0] = m_images;
        out.program = std::move(m_program);
        return out;
    }

    void operator()(Pointwise& code) {
        reads(code.reads);
        writes(code.writes);
        code.space[0] = m_images;
    }

    void operator()(Row& code) {
        reads(code.reads);
        writes(code.elementWrites);
        writes(code.rowWrites);
        code.outer[0] = m_images;
    }

    void operator()(Contraction& code) {
        const bool product = code.kind == Contraction::Kind::MatMul;
        if (product && code.batchDims + code.mDims == 0)
            return refuse(); // the first dimension is one of B's columns
        read(code.a);
        if (product) {
            read(code.b);
        } else { // the map of B is over its own dimensions
            note(m_inputs[code.b.operand], OperandUse::Whole);
            if (m_inputs[code.a.operand] != OperandUse::Each)
                return refuse();
        }
        prologue(code.prologueA, code.a.operand);
        prologue(code.prologueB, code.b.operand);
        reads(code.epilogue.reads);
        writes(code.epilogue.writes);
        code.space[0] = m_images;
        if (code.poolWindow)
            code.poolSpace[0] = m_images;
    }

    void operator()(Window& code) {
        const Extents& extents = m_program.inputs[code.operand].extents;
        if (extents.empty() || extents[0] != m_total)
            return refuse();
        note(m_inputs[code.operand], OperandUse::Each);
        prologue(code.prologue, code.operand);
        reads(code.epilogue.reads);
        writes(code.epilogue.writes);
        code.space[0] = m_images;
    }

    void operator()(Copy& code) {
        for (Copy::Piece& piece : code.pieces) {
            if (piece.space.empty() || piece.space[0] != m_total)
                return refuse();
            if (piece.read)
                read(*piece.read);
            writes({piece.write});
            piece.space[0] = m_images;
        }
    }

    void operator()(Attention&) { refuse(); }

    void operator()(Group&) { refuse(); }

    void operator()(Chain&) { refuse(); }

    void operator()(Library&) { refuse(); }

private:
    void refuse() { m_possible = false; }

    void note(OperandUse& known, OperandUse use) {
        if (known != OperandUse::None && known != use)
            refuse();
        known = use;
    }

    void note(std::vector<OperandUse>& uses, const std::vector<OperandType>& types,
              const Access& access) {
        OperandUse use = OperandUse::Whole;
        for (size_t d = 0; d < access.index.size(); ++d)
            for (const IndexTerm& term : access.index[d].terms) {
                if (term.dim != 0)
                    continue;
                if (d != 0 || access.index[0] != DimIndex{0, {{0, 1}}})
                    return refuse();
                use = OperandUse::Each;
            }
        if (use == OperandUse::Each && types[access.operand].extents[0] != m_total)
            return refuse();
        note(uses[access.operand], use);
    }

    void read(const Access& access) { note(m_inputs, m_program.inputs, access); }

    void reads(const std::vector<Access>& accesses) {
        for (const Access& access : accesses)
            read(access);
    }

    void writes(const std::vector<Access>& accesses) {
        for (const Access& access : accesses)
            note(m_outputs, m_program.outputs, access);
    }

    /// Its reads step through the operand's own dimensions.
    void prologue(const std::optional<Prologue>& prologue, uint32_t operand) {
        if (!prologue)
            return;
        for (const Access& access : prologue->reads)
            if (m_inputs[operand] == OperandUse::Each)
                read(access);
            else
                note(m_inputs[access.operand], OperandUse::Whole);
    }

    KernelProgram m_program;
    int64_t m_total, m_images;
    std::vector<OperandUse> m_inputs, m_outputs;
    bool m_possible = true;
};

struct ImageCount {
    static int64_t first(const Extents& extents) { return extents.empty() ? 0 : extents[0]; }

    int64_t operator()(const Pointwise& code) const { return first(code.space); }

    int64_t operator()(const Row& code) const { return first(code.outer); }

    int64_t operator()(const Contraction& code) const { return first(code.space); }

    int64_t operator()(const Window& code) const { return first(code.space); }

    int64_t operator()(const Copy& code) const {
        return code.pieces.empty() ? 0 : first(code.pieces[0].space);
    }

    int64_t operator()(const Attention&) const { return 0; }

    int64_t operator()(const Group&) const { return 0; }

    int64_t operator()(const Chain&) const { return 0; }

    int64_t operator()(const Library&) const { return 0; }
};

} // namespace

int64_t imagesOf(const KernelProgram& program) {
    return std::visit(ImageCount{}, program.code);
}

std::optional<ImageSlice> sliceImages(const KernelProgram& program, int64_t images) {
    return Slicer(program, images).run();
}

} // namespace fuselage
