// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/matmul_shape.h"

#include <algorithm>
#include <iterator>

namespace fuselage {

namespace {

/// Rows in the order of a's strides, where that leaves fewer loops: nothing depends on their order.
void mergeRows(std::vector<Loop>& rows) {
    std::vector<Loop> sorted = rows;
    sortByStrides(sorted, 0);
    mergeNeighbours(rows);
    mergeNeighbours(sorted);
    if (sorted.size() < rows.size())
        rows = std::move(sorted);
}

/// Leaves one loop of the group; the others repeat the product.
void leaveOne(std::vector<Loop>& group, ProductLoop chosen, std::vector<Loop>& batch) {
    if (group.empty())
        return;
    auto kept = group.end() - 1;
    if (chosen == ProductLoop::Longest)
        for (auto loop = group.end(); loop-- != group.begin();)
            kept = loop->extent > kept->extent ? loop : kept;
    Loop one = std::move(*kept);
    group.erase(kept);
    std::move(group.begin(), group.end(), std::back_inserter(batch));
    group = {std::move(one)};
}

} // namespace

std::variant<MatMulLoops, Reason> matMulLoops(const Contraction& program,
                                              const std::vector<StridedAccess>& operands,
                                              ProductLoop chosen) {
    auto loopsOf = [&](size_t first, size_t count, const Extents& extents, size_t extentAt) {
        std::vector<Loop> loops;
        for (size_t i = 0; i < count; ++i) {
            if (extents[extentAt + i] == 1)
                continue;
            Loop loop{extents[extentAt + i], {}};
            for (const StridedAccess& operand : operands)
                loop.strides.push_back(
                    first + i < operand.strides.size() ? operand.strides[first + i] : 0);
            loops.push_back(std::move(loop));
        }
        return loops;
    };
    size_t batchDims = program.batchDims, mDims = program.mDims, nDims = program.nDims;
    MatMulLoops out;
    out.batch = loopsOf(0, batchDims, program.space, 0);
    std::vector<Loop> m = loopsOf(batchDims, mDims, program.space, batchDims);
    std::vector<Loop> n = loopsOf(batchDims + mDims, nDims, program.space, batchDims + mDims);
    std::vector<Loop> k = loopsOf(program.space.size(), program.k.size(), program.k, 0);
    mergeRows(m);
    mergeNeighbours(n);
    mergeNeighbours(k);
    if (k.size() > 1)
        return Reason{"layout", "the reduced dimensions do not lie one after the other", {}, {}};
    leaveOne(m, chosen, out.batch);
    leaveOne(n, ProductLoop::Innermost, out.batch);
    const Loop none{1, std::vector<int64_t>(operands.size(), 0)};
    out.m = m.empty() ? none : m[0];
    out.n = n.empty() ? none : n[0];
    out.k = k.empty() ? none : k[0];
    mergeNeighbours(out.batch);
    return out;
}

std::variant<MatMulShape, Reason> matMulShape(const Contraction& program, const StridedAccess& a,
                                              const StridedAccess& b, const StridedAccess& c,
                                              ProductLoop chosen) {
    auto found = matMulLoops(program, {a, b, c}, chosen);
    if (auto* reason = std::get_if<Reason>(&found))
        return std::move(*reason);
    auto& loops = std::get<MatMulLoops>(found);
    MatMulShape out;
    out.batch = std::move(loops.batch);
    out.m = loops.m.extent;
    out.n = loops.n.extent;
    out.k = loops.k.extent;
    out.aM = loops.m.strides[0];
    out.cM = loops.m.strides[2];
    out.bN = loops.n.strides[1];
    out.cN = loops.n.strides[2];
    out.aK = loops.k.strides[0];
    out.bK = loops.k.strides[1];
    out.aOffset = a.offset;
    out.bOffset = b.offset;
    out.cOffset = c.offset;
    int64_t channels = 1; // no more than elements of the result
    for (size_t d = program.batchDims + program.mDims; d < program.space.size(); ++d)
        channels *= program.space[d];
    out.wholeRows = out.n == channels;
    return out;
}

} // namespace fuselage
