// SPDX-License-Identifier: Apache-2.0
#include "core/cost/operand_bytes_internal.h"
#include "core/cost/touched_set.h"
#include "core/kernel/chain.h"
#include "core/ops/gather_matmul.h"

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

Extents loopsOf(Extents a, const Extents& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

struct Toucher {
    const KernelProgram& program;
    std::vector<TouchedSet> inputs, outputs;

    explicit Toucher(const KernelProgram& of) : program(of) {
        inputs.reserve(of.inputs.size());
        outputs.reserve(of.outputs.size());
        for (const OperandType& input : of.inputs)
            inputs.emplace_back(input.extents);
        for (const OperandType& output : of.outputs)
            outputs.emplace_back(output.extents);
    }

    void read(const Access& access, const Extents& space) {
        inputs[access.operand].add(access.index, space);
    }

    void reads(const std::vector<Access>& accesses, const Extents& space) {
        for (const Access& access : accesses)
            read(access, space);
    }

    void write(const Access& access, const Extents& space) {
        outputs[access.operand].add(access.index, space);
    }

    void writes(const std::vector<Access>& accesses, const Extents& space) {
        for (const Access& access : accesses)
            write(access, space);
    }

    /// A tensor that a window slides over, or that is prepared as a whole.
    void whole(uint32_t operand, const std::optional<Prologue>& prologue) {
        inputs[operand].addWhole();
        if (prologue)
            reads(prologue->reads, program.inputs[operand].extents);
    }

    void operator()(const Pointwise& code) {
        reads(code.reads, code.space);
        writes(code.writes, code.space);
    }

    void operator()(const Row& code) {
        const Extents all = loopsOf(code.outer, code.inner);
        reads(code.reads, all);
        writes(code.elementWrites, all);
        writes(code.rowWrites, code.outer);
    }

    void operator()(const Contraction& code) {
        const Extents all = loopsOf(code.space, code.k);
        auto operand = [&](const Access& access, const std::optional<Prologue>& prologue) {
            if (prologue || code.kind != Contraction::Kind::MatMul)
                whole(access.operand, prologue);
            else
                read(access, all);
        };
        operand(code.a, code.prologueA);
        operand(code.b, code.prologueB);
        reads(code.epilogue.reads, code.space);
        writes(code.epilogue.writes, code.poolWindow ? code.poolSpace : code.space);
    }

    void operator()(const Attention& code) {
        auto over = [&](int64_t rows, int64_t columns) {
            return loopsOf(code.batch, {rows, columns});
        };
        read(code.q, over(code.l, code.d));
        read(code.k, over(code.s, code.d));
        read(code.v, over(code.s, code.e));
        for (const ScoreStep& step : code.steps)
            if (step.reads())
                read(step.access, over(code.l, code.s));
        if (code.sink && code.sink->read)
            read(*code.sink->read, over(code.l, 1));
        write(code.output, over(code.l, code.e));
    }

    void operator()(const Window& code) {
        whole(code.operand, code.prologue);
        reads(code.epilogue.reads, code.space);
        writes(code.epilogue.writes, code.space);
    }

    void operator()(const Copy& code) {
        for (const Copy::Piece& piece : code.pieces) {
            if (piece.read)
                read(*piece.read, piece.space);
            write(piece.write, piece.space);
        }
    }

    void operator()(const Library& code) {
        for (size_t i = 0; i < inputs.size(); ++i)
            if (const auto most = mostRead(code, i))
                inputs[i].addSome(*most);
            else
                inputs[i].addWhole();
        for (TouchedSet& output : outputs)
            output.addWhole();
    }

    void operator()(const Group&) {}

    void operator()(const Chain&) {}

private:
    /// Elements of an input at most, where indices decide which; none: all.
    std::optional<int64_t> mostRead(const Library& code, size_t input) const {
        const Node* node = program.body ? &program.body->node(code.node) : nullptr;
        const auto countOf = [](const OperandType& operand) {
            return elementCount(operand.extents).value_or(0);
        };
        // Of a table at most as much as there are results is read, wherever it lies.
        if (node && node->op == Op::Gather && inputs.size() == 2 && outputs.size() == 1 &&
            input == 0)
            return countOf(program.outputs[0]);
        if (!node || node->op != Op::GatherMatMul)
            return std::nullopt;
        const ValueId value = program.body->inputs()[input];
        const auto slot = std::find(node->inputs.begin(), node->inputs.end(), value);
        const Extents& y = program.outputs[0].extents;
        const OperandType& operand = program.inputs[input];
        if (slot - node->inputs.begin() == static_cast<int>(GatherMatMulInput::X) ||
            slot - node->inputs.begin() == static_cast<int>(GatherMatMulInput::Index) ||
            y.size() != 3 || operand.extents.empty() || operand.extents[0] == 0)
            return std::nullopt;
        const int64_t matrices = operand.extents[0];
        return countOf(operand) / matrices * std::min(matrices, y[0] * y[1]);
    }
};

std::vector<int64_t> bytesOf(const std::vector<TouchedSet>& sets,
                             const std::vector<OperandType>& operands) {
    constexpr int64_t most = INT64_MAX / 4096; // a plan that large is refused, its sums must fit
    std::vector<int64_t> out;
    for (size_t i = 0; i < sets.size(); ++i)
        out.push_back(std::min(sets[i].count(), most) *
                      static_cast<int64_t>(sizeOf(operands[i].dtype)));
    return out;
}

double tilesAlong(const Extents& space, size_t first, size_t count) {
    int64_t extent = 1;
    for (size_t d = first; d < first + count; ++d)
        extent *= space[d];
    return static_cast<double>((extent + contractionTile - 1) / contractionTile);
}

void contractionPasses(const Contraction& code, std::vector<double>& passes) {
    double mTiles = 1, nTiles = 1;
    if (code.kind == Contraction::Kind::MatMul) {
        mTiles = tilesAlong(code.space, code.batchDims, code.mDims);
        nTiles = tilesAlong(code.space, code.batchDims + code.mDims, code.nDims);
    } else { // implicit GEMM: positions of all images times output channels of one group
        Extents positions = code.space;
        positions.erase(positions.begin() + 1);
        mTiles = tilesAlong(positions, 0, positions.size());
        nTiles = tilesAlong({code.space[1] / code.groups}, 0, 1);
    }
    passes[code.a.operand] = std::max(passes[code.a.operand], nTiles);
    passes[code.b.operand] = std::max(passes[code.b.operand], mTiles);
}

} // namespace

int64_t stagedElements(const KernelProgram& program) {
    auto count = [&](uint32_t operand) {
        return elementCount(program.inputs[operand].extents).value_or(0);
    };
    if (const auto* window = std::get_if<Window>(&program.code))
        return window->prologue ? count(window->operand) : 0;
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code || !isFloat(code->accumulate))
        return 0;
    const int64_t a = code->prologueA ? count(code->a.operand) : 0;
    // The second operand of a product that is no batch of them is taken for weights.
    return code->prologueB && code->batchDims > 0 ? a + count(code->b.operand) : a;
}

OperandBytes operandBytes(const KernelProgram& program) {
    OperandBytes out;
    if (const auto* group = std::get_if<Group>(&program.code)) {
        // Members number their operands on their own: a group lists them one after the other.
        for (const KernelProgram& member : group->members) {
            OperandBytes bytes = operandBytes(member);
            out.read.insert(out.read.end(), bytes.read.begin(), bytes.read.end());
            out.written.insert(out.written.end(), bytes.written.begin(), bytes.written.end());
        }
        return out;
    }
    if (const auto* chain = std::get_if<Chain>(&program.code)) {
        out.read = operandBytes(chain->members[0]).read;
        OperandBytes second = operandBytes(chain->members[1]);
        second.read.erase(second.read.begin() + linkOf(*chain));
        out.read.insert(out.read.end(), second.read.begin(), second.read.end());
        out.written = std::move(second.written);
        return out;
    }
    Toucher toucher(program);
    std::visit(toucher, program.code);
    out.read = bytesOf(toucher.inputs, program.inputs);
    out.written = bytesOf(toucher.outputs, program.outputs);
    return out;
}

/// A product behind a Row alone passes over its own operands as ever; all blocks make all rows.
std::vector<double> passesBehindRows(const KernelProgram& program, const Chain& code,
                                     const DeviceProfile& profile) {
    std::vector<double> own(code.members[1].inputs.size(), 1.0), out(program.inputs.size(), 1.0);
    contractionPasses(productOf(code, 0), own);
    for (uint32_t i = 0; i < own.size(); ++i)
        if (i != linkOf(code))
            out[chainInput(code, 1, i)] = own[i];
    std::fill_n(out.begin(), code.members[0].inputs.size(), blocksWithRows(code, profile));
    return out;
}

/// Each block of rows passes over both weights, unless they stay in the memory of its
/// multiprocessor, beside the rows at hand.
std::vector<double> chainPasses(const KernelProgram& program, const Chain& code,
                                const DeviceProfile& profile) {
    if (productCount(code) == 1)
        return passesBehindRows(program, code, profile);
    constexpr double weightsShare = 0.75;
    std::vector<double> out(program.inputs.size(), 1.0);
    const uint32_t b[] = {chainWeight(code, 0), chainWeight(code, 1)};
    double bytes = 0;
    for (const uint32_t operand : b)
        bytes += static_cast<double>(elementCount(program.inputs[operand].extents).value_or(0) *
                                     static_cast<int64_t>(sizeOf(program.inputs[operand].dtype)));
    const double blocks = std::ceil(static_cast<double>(chainRows(code)) / chainTile);
    const bool stay = bytes <= weightsShare * profile.sharedBytesPerUnit;
    for (const uint32_t operand : b)
        out[operand] = stay ? std::min(blocks, profile.units) : blocks;
    return out;
}

double blocksWithRows(const Chain& code, const DeviceProfile& profile) {
    const Contraction& product = productOf(code, 0);
    return std::max(1.0, std::min(static_cast<double>(blocksBehindRows) * profile.units,
                                  static_cast<double>(elementCount(product.space).value_or(0) /
                                                      std::max<int64_t>(1, chainRows(code)))));
}

std::vector<double> readPasses(const KernelProgram& program, const DeviceProfile& profile) {
    const double sharedBytes = profile.sharedBytesPerUnit;
    std::vector<double> out(program.inputs.size(), 1.0);
    if (const auto* chain = std::get_if<Chain>(&program.code))
        return chainPasses(program, *chain, profile);
    if (const auto* code = std::get_if<Contraction>(&program.code)) {
        contractionPasses(*code, out);
    } else if (const auto* row = std::get_if<Row>(&program.code)) {
        // Rows that do not stay on chip are read again by every stage and for the results.
        double rowBytes = 0;
        for (const Access& read : row->reads)
            rowBytes += static_cast<double>(
                elementCount(row->inner).value_or(0) *
                static_cast<int64_t>(sizeOf(program.inputs[read.operand].dtype)));
        const double passes =
            static_cast<double>(row->stages.size()) + (row->elementWrites.empty() ? 0.0 : 1.0);
        if (rowBytes > sharedBytes && sharedBytes > 0)
            for (const Access& read : row->reads)
                out[read.operand] = std::max(1.0, passes);
    } else if (const auto* attention = std::get_if<Attention>(&program.code)) {
        const double blocks = tilesAlong({attention->l}, 0, 1);
        out[attention->k.operand] = std::max(out[attention->k.operand], blocks);
        out[attention->v.operand] = std::max(out[attention->v.operand], blocks);
    }
    return out;
}

} // namespace fuselage
