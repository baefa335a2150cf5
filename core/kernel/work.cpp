// SPDX-License-Identifier: Apache-2.0
// Counting the work of one launch: multiply-adds exactly, tapes by their instructions.
#include "core/kernel/chain.h"
#include "core/kernel/layout_work_internal.h"
#include "core/kernel/loops.h"
#include "core/kernel/program.h"
#include "core/kernel/routine_work.h"
#include "core/ops/tape_power.h"

#include <algorithm>

namespace fuselage {

namespace {

int64_t count(const Extents& extents) {
    return elementCount(extents).value_or(0);
}

/// Shorter rows are reduced several together (core/cpu/vector_reduce.h).
constexpr int64_t togetherBelow = 32;

struct Counter {
    const KernelProgram& program;
    const OperandStrides* order = nullptr;
    Work out = {};

    /// Row after row, where it is not known.
    StridedAccess placed(const Access& access, bool isRead, size_t dims) const {
        const OperandType& operand = (isRead ? program.inputs : program.outputs)[access.operand];
        const Extents* known =
            order ? (isRead ? order->inputs : order->outputs)[access.operand] : nullptr;
        return strided(access, known ? *known : rowMajorStrides(operand.extents), dims);
    }

    void tape(const Tape& tape, int64_t times) {
        for (const TapeInstruction& at : tape.code) {
            if (at.op == TapeOp::Input || at.op == TapeOp::Constant)
                continue;
            out.tapeInstructions += times;
            if (const int products = productsOfPower(tape, at); products > 0) {
                out.issue += times * products;
                out.flops += times;
                continue;
            }
            const TapeCost cost = rowOf(at.op).cost;
            out.issue += times * cost.issue;
            if (cost.issue > 1)
                out.calls[static_cast<size_t>(at.op)] += times;
            out.transcendental += cost.transcendental ? times : 0;
            out.flops += isFloat(at.type) && at.op != TapeOp::Cast ? times : 0;
        }
    }

    void prologue(const std::optional<Prologue>& prologue, uint32_t operand) {
        if (prologue)
            tape(prologue->tape, count(program.inputs[operand].extents));
    }

    /// Loads and stores, one instruction each.
    void moves(size_t accesses, int64_t times) {
        out.issue += static_cast<int64_t>(accesses) * times;
    }

    void operator()(const Pointwise& code) {
        tape(code.tape, count(code.space));
        moves(code.reads.size() + code.writes.size(), count(code.space));
    }

    void operator()(const Row& code) {
        const int64_t rows = count(code.outer), elements = rows * count(code.inner);
        for (const Row::Stage& stage : code.stages) {
            tape(stage.map, elements);
            tape(stage.scalar, rows);
            out.tapeInstructions += elements * static_cast<int64_t>(stage.reduce.size());
            moves(stage.reduce.size(), elements);
            out.reduced += elements * static_cast<int64_t>(stage.reduce.size());
            out.rows += rows * std::min(count(code.inner), togetherBelow) / togetherBelow;
            out.flops += elements * static_cast<int64_t>(stage.reduce.size());
        }
        tape(code.element, elements);
        tape(code.row, rows);
        moves(code.reads.size() + code.elementWrites.size(), elements);
        moves(code.rowWrites.size(), rows);
    }

    void operator()(const Contraction& code) {
        // One multiply-add for each result and reduced element; a transposed convolution has one
        // for each input element and weight that it meets.
        int64_t results = count(code.space), reduced = count(code.k);
        const Extents& w = program.inputs[code.b.operand].extents;
        if (code.kind == Contraction::Kind::Conv)
            reduced = count(Extents(w.begin() + 1, w.end()));
        if (code.kind == Contraction::Kind::ConvTranspose) {
            results = count(program.inputs[code.a.operand].extents);
            reduced = count(Extents(w.begin() + 1, w.end()));
        }
        out.matrixFlops = 2 * results * reduced;
        out.flops += out.matrixFlops;
        // One channel a group leaves nothing to multiply as matrices.
        const bool depthwise =
            code.kind != Contraction::Kind::MatMul && code.groups > 1 && w[1] == 1;
        out.matrix = isFloat(code.accumulate) && !depthwise;
        const auto before = out;
        tape(code.epilogue.tape, count(code.space));
        moves(code.epilogue.reads.size() + code.epilogue.writes.size(), count(code.space));
        out.epilogue = out.issue - before.issue;
        for (size_t op = 0; op < tapeOpCount; ++op)
            out.epilogue -=
                (out.calls[op] - before.calls[op]) * rowOf(static_cast<TapeOp>(op)).cost.issue;
        prologue(code.prologueA, code.a.operand);
        prologue(code.prologueB, code.b.operand);
        if (code.poolWindow) {
            const int64_t steps = count(code.poolSpace) * count(code.poolWindow->kernel);
            out.flops += steps;
            out.issue += steps;
            out.pooled += steps;
        }
    }

    void operator()(const Attention& code) {
        const int64_t scores = count(code.batch) * code.l * code.s;
        out.matrixFlops = 2 * scores * (code.d + code.e);
        int64_t masks = 0;
        for (const ScoreStep& step : code.steps) {
            masks += step.reads() ? 1 : 0;
            tape(step.function, scores);
        }
        out.flops += out.matrixFlops + (3 + masks) * scores;
        out.issue += (8 + 2 * masks) * scores;
        out.scores = scores;
        out.transcendental += scores;
        out.tapeInstructions += (4 + masks) * scores; // scale, exp, running maximum and sum
        out.matrix = true;
    }

    void operator()(const Window& code) {
        out.flops += count(code.space) * count(code.window.kernel);
        out.tapeInstructions += count(code.space) * count(code.window.kernel);
        out.issue += 2 * count(code.space) * count(code.window.kernel);
        out.pooled += count(code.space) * count(code.window.kernel);
        prologue(code.prologue, code.operand);
        tape(code.epilogue.tape, count(code.space));
    }

    void operator()(const Copy& code) {
        for (const Copy::Piece& piece : code.pieces) {
            const int64_t elements = count(piece.space);
            moves(2, elements);
            const size_t dims = piece.space.size();
            std::vector<StridedAccess> accesses{placed(piece.write, false, dims)};
            if (piece.read)
                accesses.push_back(placed(*piece.read, true, dims));
            std::vector<Loop> loops = mergedLoops(piece.space, accesses);
            sortByStrides(loops, 0);
            mergeNeighbours(loops);
            const auto reads = [&](const Loop& loop) {
                return piece.read ? loop.strides[1] : int64_t{0};
            };
            const bool isRow = !loops.empty() && loops.back().strides[0] == 1;
            // What lies along no dimension of either side waits for memory. Elements that change
            // places move in tiles, each of which begins anew as several runs do.
            constexpr int64_t apart = 4, runsOfTile = 4;
            const auto own = std::find_if(loops.begin(), loops.end(),
                                          [&](const Loop& loop) { return reads(loop) == 1; });
            if (!isRow) { // each element is a run
                out.runs += elements;
            } else if (reads(loops.back()) == 0 || reads(loops.back()) == 1) {
                out.runs += elements / std::max<int64_t>(loops.back().extent, 1);
            } else if (own == loops.end()) {
                out.turned += apart * elements;
            } else {
                out.turned += elements;
                out.runs += runsOfTile * elements / own->extent / loops.back().extent;
            }
        }
    }

    /// Packing a hidden element as a row of the second product takes the place of its store. A Row
    /// in front of two has its elements where the first product would have read them, and leaves
    /// them there: it neither loads nor stores them.
    void operator()(const Chain& code) {
        members(code.members);
        if (const KernelProgram* rows = rowsOf(code); rows && productCount(code) == 2)
            moves(2, -count(rows->outputs[0].extents));
    }

    void operator()(const Group& code) { members(code.members); }

    void members(const std::vector<KernelProgram>& programs) {
        for (const KernelProgram& member : programs) {
            const Work work = workOf(member);
            out.flops += work.flops;
            out.transcendental += work.transcendental;
            out.tapeInstructions += work.tapeInstructions;
            out.issue += work.issue;
            out.matrixFlops += work.matrixFlops;
            out.matrix = out.matrix || work.matrix;
            for (size_t op = 0; op < tapeOpCount; ++op)
                out.calls[op] += work.calls[op];
            out.epilogue += work.epilogue;
            out.reduced += work.reduced;
            out.rows += work.rows;
            out.pooled += work.pooled;
            out.scores += work.scores;
            out.runs += work.runs;
            out.turned += work.turned;
        }
    }

    void operator()(const Library& code) {
        for (const OperandType& output : program.outputs) {
            out.flops += count(output.extents);
            out.tapeInstructions += count(output.extents);
            moves(2, count(output.extents));
        }
        if (!program.body)
            return;
        const RoutineWork work = routineWork(*program.body, program.body->node(code.node));
        constexpr double most = 1e15;
        out.routine += static_cast<int64_t>(std::min(work.elements, most));
        const auto products = static_cast<int64_t>(std::min(work.products, most));
        out.flops += 2 * products;
        out.matrixFlops += 2 * products;
    }
};

} // namespace

Work workOf(const KernelProgram& program) {
    Counter counter{program};
    std::visit(counter, program.code);
    return counter.out;
}

LaidWork laidWorkOf(const KernelProgram& program, const OperandStrides& order) {
    Counter counter{program, &order};
    std::visit(counter, program.code);
    LaidWork out{counter.out};
    addLayoutWork(program, order, out);
    return out;
}

} // namespace fuselage
