// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/layout_work_internal.h"
#include "core/kernel/loops.h"

#include <algorithm>
#include <cstdlib>

namespace fuselage {

bool sameOrder(const Extents& extents, const Extents& a, const Extents& b) {
    for (size_t d = 0; d < extents.size(); ++d)
        if (extents[d] > 1 && a[d] != b[d])
            return false;
    return true;
}

Extents channelsLast(const Extents& extents) {
    if (extents.size() < 3)
        return rowMajorStrides(extents);
    Extents strides(extents.size(), 1);
    int64_t step = extents[1];
    for (size_t d = extents.size(); d-- > 2;) {
        strides[d] = step;
        step *= extents[d];
    }
    strides[0] = step;
    return strides;
}

namespace {

/// Runs of fewer elements than this leave vectors empty; what is far apart is scattered.
constexpr int64_t wholeRun = 12, scattered = 4;
/// Shorter runs of narrow types are read and written one by one.
constexpr int64_t narrowRun = 32, oneByOneRead = 2, oneByOneWrite = 6;
/// Runs of a few elements are shuffled whole.
constexpr int64_t shuffledRun = 4, shuffled = 2;
/// A line that is met again after so many others has left the first cache.
constexpr int64_t linesKept = 512, metAgain = 6;
/// Results of products that lie across are a pass of their own, which hides behind nothing.
constexpr int64_t turnedResult = 2;
/// A row's elements that are written along what is reduced and read across rows.
constexpr int64_t turnedRow = 4;

int64_t elementsOf(const Extents& extents) {
    return elementCount(extents).value_or(0);
}

class LayoutCounter {
public:
    LayoutCounter(const KernelProgram& program, const OperandStrides& order)
        : m_program(program), m_order(order) {}

    LaidWork out;

    void operator()(const Pointwise& code) {
        std::vector<Walk> walks;
        add(walks, code.writes, false, code.space.size());
        add(walks, code.reads, true, code.space.size());
        turnAll(code.space, walks, {});
    }

    void operator()(const Row& code) {
        Extents space = code.outer;
        space.insert(space.end(), code.inner.begin(), code.inner.end());
        std::vector<Walk> walks;
        add(walks, code.reads, true, space.size());
        // What is reduced leads.
        std::stable_partition(walks.begin(), walks.end(), [&](const Walk& walk) {
            return std::any_of(walk.at.strides.begin() + static_cast<ptrdiff_t>(code.outer.size()),
                               walk.at.strides.end(), [](int64_t stride) { return stride != 0; });
        });
        add(walks, code.elementWrites, false, space.size());
        turnAll(space, walks, {turnedRow, metAgain});
        rowTiles(code, walks);
    }

    void operator()(const Contraction& code) {
        if (code.kind == Contraction::Kind::MatMul)
            product(code);
        else
            convolution(code);
    }

    void operator()(const Attention& code) {
        const size_t dims = code.batch.size() + 2;
        const int64_t rows = elementsOf(code.batch);
        auto need = [&](const Access& access, bool isRead, int64_t elements) {
            if (const auto walk = walkOf(access, isRead, dims);
                walk && walk->at.strides[dims - 1] != 1)
                pack(elements, 1);
        };
        need(code.q, true, rows * code.l * code.d);
        need(code.k, true, rows * code.s * code.d);
        need(code.v, true, rows * code.s * code.e);
        need(code.output, false, rows * code.l * code.e);
    }

    void operator()(const Window& code) {
        const Extents& from = m_program.inputs[code.operand].extents;
        const int64_t read = elementsOf(from);
        const auto& writes = code.epilogue.writes;
        if (!hasChannelsTogether(code.operand, true)) {
            // No pool turns what it reads: a copy does.
            if (std::all_of(writes.begin(), writes.end(), [&](const Access& write) {
                    return hasChannelsTogether(write.operand, false);
                }))
                pack(read, shortRuns(from));
            else
                turn(read, shortRuns(from));
        }
        for (const Access& write : writes)
            if (!hasChannelsTogether(write.operand, false))
                pack(read, shortRuns(m_program.outputs[write.operand].extents));
        epilogue(code.epilogue, code.space);
    }

    void operator()(const Library&) {
        for (size_t i = 0; i < m_program.inputs.size(); ++i)
            routine(m_program.inputs[i], m_order.inputs[i]);
        for (size_t i = 0; i < m_program.outputs.size(); ++i)
            routine(m_program.outputs[i], m_order.outputs[i]);
    }

    void operator()(const Copy&) {}

    void operator()(const Group&) {}

    void operator()(const Chain&) {}

private:
    /// One operand's way through the space.
    struct Walk {
        StridedAccess at;
        const OperandType* type = nullptr;
        bool isRead = false;

        bool isNarrow() const { return sizeOf(type->dtype) < 4; }
    };

    const Extents* stridesOf(uint32_t operand, bool isRead) const {
        const auto& all = isRead ? m_order.inputs : m_order.outputs;
        return operand < all.size() ? all[operand] : nullptr;
    }

    std::optional<Walk> walkOf(const Access& access, bool isRead, size_t dims) const {
        const Extents* strides = stridesOf(access.operand, isRead);
        const OperandType& type =
            isRead ? m_program.inputs[access.operand] : m_program.outputs[access.operand];
        if (!strides || strides->size() != type.extents.size())
            return std::nullopt;
        return Walk{strided(access, *strides, dims), &type, isRead};
    }

    void add(std::vector<Walk>& walks, const std::vector<Access>& accesses, bool isRead,
             size_t dims) const {
        for (const Access& access : accesses)
            if (auto walk = walkOf(access, isRead, dims))
                walks.push_back(std::move(*walk));
    }

    void turn(int64_t elements, int64_t weight) { out.work.turned += elements * weight; }

    void pack(int64_t elements, int64_t weight) {
        turn(elements, weight);
        out.packed += elements;
    }

    static int64_t shortRuns(const Extents& extents) {
        return wholeRun / std::clamp<int64_t>(extents[1], 1, wholeRun);
    }

    /// A row kernel's tiles lie along what is reduced and one loop over rows, that of the leader:
    /// what is contiguous along another one is met element by element, and of a few rows that lie
    /// across, vectors are mostly empty.
    void rowTiles(const Row& code, const std::vector<Walk>& walks) {
        if (walks.empty())
            return;
        std::vector<StridedAccess> accesses;
        for (const Walk& walk : walks)
            accesses.push_back(walk.at);
        for (StridedAccess& access : accesses)
            access.strides.resize(code.outer.size());
        std::vector<Loop> loops = mergedLoops(code.outer, accesses);
        sortByStrides(loops, 0);
        const int64_t elements = elementsOf(code.outer) * elementsOf(code.inner);
        for (size_t k = 1; k < walks.size(); ++k)
            for (size_t i = 0; i + 1 < loops.size(); ++i)
                if (loops[i].strides[k] == 1 && loops[i].strides[0] > 1)
                    turn(elements,
                         scattered * (loops.back().strides[k] > linesKept ? metAgain : 1));
        int64_t together = 1; // rows that lie beside each other
        for (size_t i = loops.size(); i-- > 0 && loops[i].strides[0] == together;)
            together *= loops[i].extent;
        if (together > 1 && together < wholeRun)
            turn(elements, wholeRun / together);
    }

    /// What is turned costs at least, in whole runs.
    struct Turned {
        int64_t written = 1; ///< of what is written
        int64_t apart = 1;   ///< of lines that are met again too late
    };

    /// The first walk leads; each other that is contiguous along another loop is turned.
    void turnAll(const Extents& space, const std::vector<Walk>& walks, const Turned& least) {
        if (walks.size() < 2)
            return;
        std::vector<StridedAccess> accesses;
        for (const Walk& walk : walks)
            accesses.push_back(walk.at);
        std::vector<Loop> loops = mergedLoops(space, accesses);
        if (loops.empty())
            return;
        sortByStrides(loops, 0);
        mergeNeighbours(loops);
        const Loop& last = loops.back();
        const int64_t elements = elementsOf(space);
        for (size_t k = 1; k < walks.size(); ++k) {
            if (std::abs(last.strides[k]) <= 1) {
                turn(elements, weightOfPieces(loops, k));
                continue;
            }
            const auto own = std::find_if(loops.begin(), loops.end(),
                                          [&](const Loop& loop) { return loop.strides[k] == 1; });
            if (own == loops.end()) {
                turn(elements, scattered);
                continue;
            }
            const int64_t run =
                std::clamp<int64_t>(std::min(own->extent, last.extent), 1, wholeRun);
            turn(elements, std::max(weightOf(run, walks[0].isNarrow() ? last.extent : narrowRun,
                                             walks[k].isNarrow() ? own->extent : narrowRun),
                                    own->strides[0] > linesKept ? least.apart
                                    : walks[k].isRead           ? 1
                                                                : least.written));
        }
    }

    /// Of operand k that lies as the leader along the last loop, where this is short and the leader
    /// goes on along the next one while k does not.
    static int64_t weightOfPieces(const std::vector<Loop>& loops, size_t k) {
        if (loops.size() < 2)
            return 0;
        const Loop &last = loops.back(), &next = loops[loops.size() - 2];
        const int64_t run = std::max<int64_t>(last.extent, 1), step = std::abs(next.strides[k]);
        if (run >= wholeRun || last.strides[k] == 0 || step <= run ||
            next.strides[0] != last.extent * last.strides[0])
            return 0;
        return wholeRun / run * (step > linesKept ? scattered : 1);
    }

    /// Of runs of wide types, and of what lies together of narrow ones.
    static int64_t weightOf(int64_t run, int64_t written, int64_t read) {
        if (run > 1 && run <= shuffledRun)
            return shuffled;
        int64_t weight = wholeRun / run;
        if (written < narrowRun)
            weight = std::max(weight, oneByOneWrite);
        if (read < narrowRun)
            weight = std::max(weight, oneByOneRead);
        return weight;
    }

    bool hasChannelsTogether(uint32_t operand, bool isRead) const {
        const Extents* strides = stridesOf(operand, isRead);
        const Extents& extents = (isRead ? m_program.inputs : m_program.outputs)[operand].extents;
        return !strides || extents.size() < 3 ||
               sameOrder(extents, *strides, channelsLast(extents)) || (*strides)[1] == 1;
    }

    /// What is added to sums in another order than the first result's.
    void epilogue(const Epilogue& code, const Extents& space) {
        std::vector<Walk> walks;
        add(walks, code.writes, false, space.size());
        add(walks, code.reads, true, space.size());
        turnAll(space, walks, {});
    }

    void convolution(const Contraction& code) {
        const Extents& image = m_program.inputs[code.a.operand].extents;
        if (!hasChannelsTogether(code.a.operand, true)) {
            out.channelsTogether = false;
            const bool isOneByOne =
                sizeOf(m_program.inputs[code.a.operand].dtype) < 4 && image[1] < narrowRun;
            pack(elementsOf(image), isOneByOne ? oneByOneWrite : shortRuns(image));
        }
        const Extents& space = code.poolWindow ? code.poolSpace : code.space;
        for (const Access& write : code.epilogue.writes)
            if (!hasChannelsTogether(write.operand, false))
                // Sums of integers are then not rounded in one pass.
                pack(elementsOf(space), code.accumulate == DType::Int32 && !code.poolWindow
                                            ? scattered
                                            : shortRuns(space));
        if (!code.poolWindow)
            epilogue(code.epilogue, code.space);
    }

    void product(const Contraction& code) {
        const size_t results = code.space.size(), dims = results + code.k.size();
        const size_t rows = code.batchDims, columns = rows + code.mDims;
        // A matrix is read by rows or by columns.
        auto matrix = [&](const Access& access, size_t first, size_t end) {
            const auto walk = walkOf(access, true, dims);
            if (!walk)
                return;
            int64_t least = 0;
            auto look = [&](size_t d) {
                const int64_t extent = d < results ? code.space[d] : code.k[d - results];
                const int64_t stride = std::abs(walk->at.strides[d]);
                if (extent > 1 && stride > 0)
                    least = least == 0 ? stride : std::min(least, stride);
            };
            for (size_t d = first; d < end; ++d)
                look(d);
            for (size_t d = results; d < dims; ++d)
                look(d);
            if (least > 1)
                pack(elementsOf(walk->type->extents), 1);
        };
        matrix(code.a, rows, columns);
        matrix(code.b, columns, results);
        for (const Access& write : code.epilogue.writes) {
            const auto walk = walkOf(write, false, results);
            if (!walk || columns == results)
                continue;
            size_t last = results;
            while (last > columns && code.space[last - 1] == 1)
                --last;
            if (last > columns && walk->at.strides[last - 1] != 1)
                pack(elementsOf(code.space), turnedResult);
        }
        epilogue(code.epilogue, code.space);
    }

    void routine(const OperandType& type, const Extents* strides) {
        const size_t rank = type.extents.size();
        if (!strides || strides->size() != rank || rank < 2)
            return;
        if (m_order.follows) {
            // The same dimensions follow each other, whatever the extents.
            if (rank >= 3 && !m_order.inputs.empty() && m_order.inputs[0] &&
                m_order.inputs[0]->size() == rank)
                follow(type, *strides);
        } else if (!sameOrder(type.extents, *strides, rowMajorStrides(type.extents))) {
            pack(elementsOf(type.extents), 1);
        }
    }

    void follow(const OperandType& type, const Extents& strides) {
        const bool last = (*m_order.inputs[0])[1] == 1 && m_program.inputs[0].extents[1] > 1;
        const Extents wanted = last ? channelsLast(type.extents) : rowMajorStrides(type.extents);
        if (!sameOrder(type.extents, strides, wanted) && &strides != m_order.inputs[0])
            pack(elementsOf(type.extents), 1);
    }

    const KernelProgram& m_program;
    const OperandStrides& m_order;
};

} // namespace

void addLayoutWork(const KernelProgram& program, const OperandStrides& order, LaidWork& to) {
    LayoutCounter counter(program, order);
    std::visit(counter, program.code);
    to.work.turned += counter.out.work.turned;
    to.turnedByOrder = counter.out.work.turned;
    to.packed = counter.out.packed;
    to.channelsTogether = counter.out.channelsTogether;
}

} // namespace fuselage
